node --test cart.node.js tax.node.js

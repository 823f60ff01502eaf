node --test cart.node.js

node --test --test-reporter=spec cart.node.js tax.node.js

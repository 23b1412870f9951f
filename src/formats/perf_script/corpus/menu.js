function plate(n) { let s = 0; for (let i = 0; i < n; ++i) s += Math.sqrt(i) % 7; return s; }
class Kitchen { cook(n) { return [1, 2, 3].map((x) => plate(n * x)).reduce((a, b) => a + b); } }
const kitchen = new Kitchen();
let sum = 0;
for (let i = 0; i < 60; ++i) sum += kitchen.cook(400000) + 'a;b "c"'.replace(/[&<>"']/g, '').length;
console.log(sum > 0);

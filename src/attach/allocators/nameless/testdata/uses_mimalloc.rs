// A Rust program with mimalloc for all of its blocks, as the crate of that name has it.
use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;

extern "C" {
    fn mi_malloc_aligned(size: usize, alignment: usize) -> *mut u8;
    fn mi_zalloc_aligned(size: usize, alignment: usize) -> *mut u8;
    fn mi_realloc_aligned(block: *mut u8, size: usize, alignment: usize) -> *mut u8;
    fn mi_free(block: *mut u8);
}
struct MiMalloc;
unsafe impl GlobalAlloc for MiMalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 { mi_malloc_aligned(layout.size(), layout.align()) }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 { mi_zalloc_aligned(layout.size(), layout.align()) }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 { mi_realloc_aligned(block, size, layout.align()) }
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) { mi_free(block) }
}
#[global_allocator]
static GLOBAL: MiMalloc = MiMalloc;

fn main() {
    let rounds: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let mut kept: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..rounds {
        kept.entry(format!("key {}", i % 97)).or_default().push(i as u64);
        std::hint::black_box(vec![0u8; i % 5000]);
    }
    println!("{}", kept.len());
}

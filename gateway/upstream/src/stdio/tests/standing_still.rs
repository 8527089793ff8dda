//! Whoever was first to need a child, and does not come to anything any more.

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::*;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn the_child_of_a_caller_that_stands_still_serves_the_others() {
    let shared = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let stage = Stage::new(|config| config.commons = Commons::on(shared.handle().clone()));
    let (first, second) = (runtime(), runtime());
    let client = first.block_on(stage.client());
    // From here on nothing happens on the first, as if its thread were busy.
    let answered = second.block_on(async { timeout(Duration::from_secs(10), stage.pid(&client)).await });
    assert!(answered.unwrap().is_u64());
    drop(first);
    let answered = second.block_on(async { timeout(Duration::from_secs(10), stage.pid(&client)).await });
    assert!(answered.unwrap().is_u64(), "nor does it matter when the first ends");
}

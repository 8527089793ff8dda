//! What may be used once is used once, whoever tries and wherever.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::stage::Stage;

pub async fn a_token_is_spent_once_of_fifty_tries(stage: &Stage) {
    let elsewhere = stage.another_node().await;
    let (token, until) = (Uuid::now_v7(), Timestamp::now() + SignedDuration::from_mins(5));
    let tries = (0..50).map(|n| {
        let once = if n % 2 == 0 { stage.store.once() } else { elsewhere.once() };
        tokio::spawn(async move { once.spend(token, until).await.unwrap() })
    });
    let mut first = 0;
    for spent in futures::future::join_all(tries.collect::<Vec<_>>()).await {
        first += usize::from(spent.unwrap());
    }
    assert_eq!(first, 1, "of fifty tries at two nodes one is the first");
    assert!(stage.store.once().spend(Uuid::now_v7(), until).await.unwrap(), "another token is another matter");
}

pub async fn what_has_expired_is_forgotten(stage: &Stage) {
    let once = stage.store.once();
    let past = Timestamp::now() - SignedDuration::from_secs(1);
    let kept = Uuid::now_v7();
    assert!(once.spend(kept, Timestamp::now() + SignedDuration::from_mins(5)).await.unwrap());
    for _ in 0..5 {
        assert!(once.spend(Uuid::now_v7(), past).await.unwrap());
    }
    // The look for what has expired comes with the thousandth token.
    let tokens = (0..994).map(|_| once.spend(Uuid::now_v7(), past));
    for spent in futures::future::join_all(tokens).await {
        assert!(spent.unwrap());
    }
    assert!(stage.count("spent_tokens").await < 900, "what has expired is gone");
    assert!(!once.spend(kept, past).await.unwrap(), "what has not is remembered");
}

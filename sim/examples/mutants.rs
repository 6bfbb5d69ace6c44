use sim::*;
fn main() {
    let limit: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let only = std::env::args().nth(2);
    for m in Mutant::ALL {
        if only.as_ref().is_some_and(|o| *o != format!("{m:?}")) {
            continue;
        }
        for (g, l) in [
            (Generator::Duel, None),
            (Generator::Duel, Some(Layout::Five)),
            (Generator::Swarm, None),
            (Generator::Island, Some(Layout::Five)),
            (Generator::Island, Some(Layout::Three)),
        ] {
            let o = Overrides { generator: Some(g), layout: l, mutant: Some(m), outcome_only: false };
            let t = std::time::Instant::now();
            let found = (1..=limit).find_map(|seed| run_seed(seed, &o, None).violation.map(|v| (seed, v)));
            match found {
                Some((seed, v)) => println!("{m:?} {g:?} {l:?}: {seed} {} {:.120}", v.checker, v.verdict),
                None => println!("{m:?} {g:?} {l:?}: survives {limit} in {:?}", t.elapsed()),
            }
        }
    }
}

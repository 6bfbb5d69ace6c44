use sim::{Overrides, Summary, run_seed};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (from, n): (u64, u64) = (a[1].parse().unwrap(), a[2].parse().unwrap());
    let mut o = Overrides::default();
    if let Some(g) = a.get(3) {
        if g == "five" {
            o.layout = Some(sim::Layout::Five);
            o.generator = Some(sim::Generator::Island)
        } else {
            o.generator = match g.as_str() {
                "island" => Some(sim::Generator::Island),
                "swarm" => Some(sim::Generator::Swarm),
                "calm" => Some(sim::Generator::Calm),
                _ => None,
            }
        }
    }
    if a.get(4).is_some_and(|t| t == "trace") {
        let mut p = |l: &str| println!("{l}");
        let r = run_seed(from, &o, Some(&mut p));
        println!("{:?}", r.violation);
        return;
    }
    let mut s = Summary::default();
    let t = std::time::Instant::now();
    for seed in from..from + n {
        s.take(run_seed(seed, &o, None));
        if s.failures.len() > 5 {
            break;
        }
    }
    println!(
        "{} seeds {} txns {} events max {} distinct {} in {:?}\n{}missing {:?}",
        s.seeds,
        s.txns,
        s.events,
        s.events_max,
        s.distinct_traces(),
        t.elapsed(),
        s.counters,
        s.counters.missing()
    );
    for (seed, v) in s.failures {
        println!("{seed} {} {}", v.checker, v.verdict)
    }
}

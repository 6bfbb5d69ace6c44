//! Which customers a transaction names.

use crate::args::{Pairing, RunArgs};
use crate::error::Error;
use crate::mix::Kind;
use crate::random::Random;
use crate::scramble::Scramble;
use crate::zipf::Zipf;

/// Most customers one transaction names.
pub(crate) const CUSTOMERS_PER_TXN_MAX: usize = 4;

/// One to four distinct customer ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ids {
    ids: [u64; CUSTOMERS_PER_TXN_MAX],
    count: usize,
}

impl Ids {
    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.ids[..self.count]
    }
}

/// Draws customers: the first by the Zipf law, each further one by that law among those not yet named.
#[derive(Debug, Clone)]
pub(crate) struct Customers {
    zipf: Zipf,
    scramble: Option<Scramble>,
    pairing: Pairing,
}

impl Customers {
    /// *Errors*: [`Error::Usage`] if there are too few customers for a type of the mix, or an odd number to pair.
    pub(crate) fn new(args: &RunArgs) -> Result<Self, Error> {
        let n = args.target.customers;
        for kind in args.mix().kinds() {
            let wanted = kind.customer_count();
            if n < wanted as u64 {
                let name = kind.name();
                return Err(Error::Usage(format!(
                    "{name} names {wanted} different customers, but --customers is {n}: raise it or leave {name} out of --mix"
                )));
            }
        }
        if args.pairing == Pairing::Closed && n % 2 == 1 {
            return Err(Error::Usage(format!("--pairing closed needs an even number of customers, not {n}")));
        }
        let scramble = args.scramble.then(|| Scramble::new(n, args.seed));
        Ok(Self { zipf: Zipf::new(n, args.theta)?, scramble, pairing: args.pairing })
    }

    pub(crate) fn draw(&self, kind: Kind, random: &mut Random) -> Ids {
        let mut ids = Ids { ids: [0; CUSTOMERS_PER_TXN_MAX], count: kind.customer_count() };
        if self.pairing == Pairing::Closed && ids.count == 2 {
            let first = self.id(self.zipf.draw(random));
            ids.ids = [first, first ^ 1, 0, 0];
            return ids;
        }
        let mut ranks = [0; CUSTOMERS_PER_TXN_MAX];
        for at in 0..ids.count {
            ranks[at] = match at {
                0 => self.zipf.draw(random),
                _ => self.zipf.draw_besides(&ranks[..at], random),
            };
            ids.ids[at] = self.id(ranks[at]);
        }
        ids
    }

    fn id(&self, rank: u64) -> u64 {
        self.scramble.as_ref().map_or(rank - 1, |scramble| scramble.apply(rank - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::Mix;
    use crate::random::Purpose;

    fn args(customers: u64, kind: Kind, theta: f64) -> RunArgs {
        let mut args = RunArgs { mix: Mix::only(kind), theta, ..RunArgs::default() };
        args.target.customers = customers;
        args
    }

    /// Field case W04.
    #[test]
    fn payroll_among_four_customers_names_each_once() {
        for theta in [1.2, 30.0] {
            let customers = Customers::new(&args(4, Kind::Payroll, theta)).expect("enough");
            for cycle in 0..10_000 {
                let mut ids = customers.draw(Kind::Payroll, &mut Random::new(1, cycle, Purpose::Keys)).ids;
                ids.sort_unstable();
                assert_eq!(ids, [0, 1, 2, 3]);
            }
        }
    }

    /// Field case W04.
    #[test]
    fn too_few_customers_are_refused_with_the_reason() {
        let message = |customers, kind| Customers::new(&args(customers, kind, 0.0)).expect_err("too few").to_string();
        assert!(message(3, Kind::Payroll).contains("payroll names 4 different customers, but --customers is 3"));
        assert!(message(1, Kind::Payment).contains("payment names 2 different customers"));
        assert!(Customers::new(&args(1, Kind::Transfer, 0.0)).is_ok());
    }

    #[test]
    fn scrambled_customers_stay_distinct() {
        let args = RunArgs { scramble: true, ..args(50, Kind::Payroll, 1.0) };
        let customers = Customers::new(&args).expect("enough");
        for cycle in 0..2_000 {
            let ids = customers.draw(Kind::Payroll, &mut Random::new(3, cycle, Purpose::Keys));
            let mut sorted = ids.as_slice().to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), 4);
            assert!(sorted.iter().all(|id| *id < 50));
        }
    }

    #[test]
    fn closed_pairs_are_an_even_id_and_the_next() {
        let closed = |customers| RunArgs { pairing: Pairing::Closed, ..args(customers, Kind::Payment, 0.9) };
        let customers = Customers::new(&closed(10)).expect("even");
        for cycle in 0..100 {
            let ids = customers.draw(Kind::Payment, &mut Random::new(4, cycle, Purpose::Keys));
            assert_eq!(ids.as_slice()[0] ^ 1, ids.as_slice()[1]);
        }
        assert!(Customers::new(&closed(9)).is_err());
    }
}

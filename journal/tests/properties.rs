//! Random histories: no published position is ever lost, a replay is always a prefix of what was appended.

mod harness;

use harness::{batch_of, dir, id, number_of, open, open_log, options};
use journal::{AfterFailure, FaultDisk, Index, Log, Lsn, Options, RecordReader};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// Payload sizes of one batch each, written together.
    Write(Vec<usize>),
    Sync,
    Attest,
    Forget,
    Kill,
    CutPower,
    /// The nth sync from here fails, be it of records or of a new segment; then the process ends and perhaps the power.
    FailSync(u64, AfterFailure, bool),
    FailWrite(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let after = prop_oneof![Just(AfterFailure::Keep), Just(AfterFailure::Revert)];
    prop_oneof![
        8 => prop::collection::vec(0usize..900, 1..6).prop_map(Step::Write),
        6 => Just(Step::Sync),
        1 => Just(Step::Attest),
        1 => Just(Step::Forget),
        1 => Just(Step::Kill),
        2 => Just(Step::CutPower),
        1 => (1u64..8, after, any::<bool>()).prop_map(|(nth, after, cut)| Step::FailSync(nth, after, cut)),
        1 => any::<bool>().prop_map(Step::FailWrite),
    ]
}

/// A log under test and what is true of it.
struct Story {
    disk: FaultDisk,
    options: Options,
    log: Log,
    index: Index,
    /// Position after each record, its number and size; ids repeat, so that they collect several records.
    appended: Vec<(Lsn, u64, usize)>,
    published: Lsn,
    forgotten: Lsn,
    next: u64,
}

impl Story {
    fn begin(seed: u64, options: Options) -> Self {
        let disk = FaultDisk::new(seed);
        let opened = open_log(&disk, &options).expect("new");
        let (log, index) = (opened.log, opened.index);
        let (published, forgotten) = (Lsn::ZERO, Lsn::ZERO);
        Self { disk, options, log, index, appended: Vec::new(), published, forgotten, next: 0 }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Write(sizes) => self.write(sizes),
            Step::Sync => self.sync(),
            Step::Attest => self.log.attest().expect("healthy"),
            Step::Forget => self.forget(),
            Step::Kill => self.restart(false),
            Step::CutPower => self.restart(true),
            Step::FailSync(nth, after, cut) => {
                self.disk.fail_sync(*nth, *after);
                loop {
                    self.write(&[800]);
                    match self.log.sync() {
                        Ok(position) => self.published = position,
                        Err(_) => break,
                    }
                }
                assert!(self.log.sync().is_err(), "poison is final");
                self.restart(*cut);
            }
            Step::FailWrite(cut) => {
                self.disk.fail_write(1);
                let number = self.next % 7;
                let refused = self.log.write(&[batch_of(&self.options, number, 100)]);
                assert!(refused.is_err());
                assert!(self.log.sync().is_err(), "poison is final");
                self.restart(*cut);
            }
        }
    }

    fn write(&mut self, sizes: &[usize]) {
        let numbers: Vec<u64> = (self.next..).take(sizes.len()).collect();
        let batches: Vec<_> =
            sizes.iter().zip(&numbers).map(|(size, number)| batch_of(&self.options, number % 7, *size)).collect();
        let mut position = self.appended.last().map_or(self.log.appended(), |(position, ..)| *position);
        for ((size, number), batch) in sizes.iter().zip(&numbers).zip(&batches) {
            position = position.plus(batch.size());
            self.appended.push((position, number % 7, *size));
        }
        self.next += sizes.len() as u64;
        if let Ok(placements) = self.log.write(&batches) {
            assert_eq!(self.log.appended(), position);
            placements.iter().for_each(|placement| self.index.insert(placement));
        }
    }

    fn sync(&mut self) {
        self.published = self.log.sync().expect("healthy");
        assert_eq!(self.published, self.log.appended());
    }

    fn forget(&mut self) {
        self.sync();
        let upto = Lsn(self.published.0 / 2);
        let forgotten = self.log.forget_below(upto);
        self.index.forget_below(forgotten.first_segment);
        Log::remove(dir(), &*self.disk.mount(), &forgotten.segments).expect("healthy");
        self.forgotten = self.forgotten.max(upto);
    }

    fn restart(&mut self, cuts_power: bool) {
        if cuts_power {
            self.disk.cut_power();
        } else {
            self.disk.kill();
        }
        let opened = open_log(&self.disk, &self.options).expect("opens after any crash");
        let end = opened.replay.end();
        assert!(end >= self.published, "published {}, found {end}", self.published);
        assert!(opened.replay.first() <= self.forgotten);
        self.appended.retain(|(position, ..)| *position <= end);
        let first = opened.replay.first();
        let expected: Vec<_> = self.appended.iter().filter(|(position, ..)| *position > first).copied().collect();
        let found: Vec<_> = opened
            .replay
            .map(|record| record.expect("readable"))
            .map(|record| (record.position, number_of(&record), record.payload.len()))
            .collect();
        assert_eq!(found, expected);
        (self.log, self.index, self.published) = (opened.log, opened.index, end);
        assert_eq!(self.log.appended(), end);
        self.check_reads(first);
    }

    fn check_reads(&self, first: Lsn) {
        let mut reader = RecordReader::new(dir(), self.disk.mount());
        for number in 0..7 {
            let found = reader.read(&self.index, 1, &id(number)).expect("readable");
            let found: Vec<usize> = found.iter().map(|stored| stored.payload.len()).collect();
            let records = self.appended.iter().filter(|(position, of, _)| *of == number && *position > first);
            assert_eq!(found, records.map(|(.., size)| *size).collect::<Vec<usize>>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_published_position_is_never_lost(seed: u64, steps in prop::collection::vec(step(), 1..60)) {
        let mut story = Story::begin(seed, options());
        steps.iter().for_each(|step| story.take(step));
        story.restart(true);
        // Without an append between them, two crashes find the same.
        let end = story.log.appended();
        story.restart(true);
        prop_assert_eq!(story.log.appended(), end);
    }

    #[test]
    fn the_running_journal_publishes_only_what_survives(
        seed: u64,
        rounds in prop::collection::vec((prop::collection::vec(0usize..700, 0..20), any::<bool>()), 1..6),
    ) {
        let disk = FaultDisk::new(seed);
        let mut known: Vec<u64> = Vec::new();
        let mut next = 0;
        for (sizes, waits) in rounds {
            let mut running = open(&disk, &options());
            let found: Vec<u64> = running.replay.clone().map(|record| number_of(&record.expect("readable"))).collect();
            prop_assert!(found.starts_with(&known), "known {:?}, found {:?}", known, found);
            known = found;
            let mut positions = Vec::new();
            for size in sizes {
                positions.push((running.append(next, size).expect("appended"), next));
                next += 1;
            }
            if let (true, Some((last, _))) = (waits, positions.last()) {
                running.await_durable(*last).expect("durable");
            }
            disk.cut_power();
            let harness::Running { journal, news, .. } = running;
            drop(journal);
            let published = news.try_iter().filter_map(|durable| match durable {
                journal::Durable::Synced(position) => Some(position),
                _ => None,
            }).max().unwrap_or_default();
            let published = if waits { positions.last().map_or(published, |(last, _)| published.max(*last)) } else { published };
            known.extend(positions.iter().filter(|(position, _)| *position <= published).map(|(_, number)| *number));
        }
    }
}

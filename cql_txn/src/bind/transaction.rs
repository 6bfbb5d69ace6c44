//! The parts of a transaction, checked in the order of [CQL 1.8].

use super::{Binder, ColumnSpec};
use crate::ast::{Condition, ConditionTest, Part, Reference, Returning, Transaction};
use crate::error::Error;
use crate::template::{ConditionUse, Source, TestUse, compared_with_null};
use crate::value::Type;

impl<'a> Binder<'a> {
    /// The result's columns, or `None`.
    pub(super) fn transaction(&mut self, of: &'a Transaction) -> Result<Option<Vec<ColumnSpec>>, Error> {
        self.in_transaction = true;
        if of.mutations.is_empty() && of.returning.is_none() {
            return Err(Error::invalid(
                of.at,
                "the transaction neither returns nor changes anything; add a SELECT or an update",
            ));
        }
        if of.mutations.is_empty() && of.conditions.is_some() {
            return Err(Error::invalid(of.at, "the IF block changes nothing; put an update between THEN and END IF"));
        }
        of.lets.iter().try_for_each(|clause| self.let_clause(clause))?;
        let result = match &of.returning {
            None => None,
            Some(Returning::Select(select)) => Some(self.returning_select(select)?),
            Some(Returning::References(references, _)) => Some(self.returning_references(references)?),
        };
        of.mutations.iter().try_for_each(|mutation| self.mutation(mutation))?;
        of.conditions.iter().flatten().try_for_each(|condition| self.condition(condition))?;
        Ok(result)
    }

    fn condition(&mut self, condition: &Condition) -> Result<(), Error> {
        let name_at = condition.reference.name.at;
        let (comparison, term) = match &condition.test {
            ConditionTest::Compare(comparison, term) => (*comparison, term),
            test => {
                let column = match condition.reference.part {
                    None => self.reference(&condition.reference)?.0,
                    Some(_) => self.column_reference(&condition.reference, "IS NULL")?.0,
                };
                let test = if *test == ConditionTest::Null { TestUse::Null } else { TestUse::NotNull };
                self.template.conditions.push(ConditionUse { column, test, at: name_at });
                return Ok(());
            }
        };
        let (column, mut spec) = self.column_reference(&condition.reference, "a comparison")?;
        self.refuse_set_element(&condition.reference)?;
        if let Some(name) = &condition.reference.column {
            spec.name = name.text.clone();
        }
        let source = self.source_of(spec, term)?;
        if source == Source::Null {
            return Err(compared_with_null(term.at));
        }
        self.template.conditions.push(ConditionUse { column, test: TestUse::Compare(comparison, source), at: term.at });
        Ok(())
    }

    /// An element of a set is itself: there is nothing to compare. *Source*: [CQL 1.4, 1.8 row 23].
    fn refuse_set_element(&mut self, reference: &Reference) -> Result<(), Error> {
        let Some(Part::Element(term)) = &reference.part else { return Ok(()) };
        let (of, table) = self.reference(reference)?;
        let is_set = of.column.is_some_and(|column| matches!(self.column_at(table, column).ty.thawed(), Type::Set(_)));
        if is_set {
            return Err(Error::invalid(term.at, "an element of a set is only IS NULL or IS NOT NULL"));
        }
        Ok(())
    }
}

//! Printing and parsing are inverse, over trees that no person would write.

use crate::ast::{
    Assignment, AssignmentOp, Clauses, Comparison, Delete, Function, Insert, Mutation, Name, Operand, Part, Relation,
    RelationTest, Select, Selection, Selector, Statement, StatementKind, TableName, Term, TermKind, Update, Using,
};
use crate::error::At;
use proptest::prelude::*;

const AT: At = At::NOWHERE;

fn a_name() -> impl Strategy<Value = Name> + Clone {
    let texts =
        prop_oneof!["[a-z][a-z0-9_]{0,6}", "[A-Z\" é]{1,4}", Just("select".to_owned()), Just("true".to_owned())];
    texts.prop_map(|text| Name { text, at: AT })
}

fn a_term() -> impl Strategy<Value = Term> + Clone {
    let kind = |kind| Term { kind, at: AT };
    let leaf = prop_oneof![
        Just(TermKind::Null),
        "-?[1-9][0-9]{0,20}".prop_map(TermKind::Integer),
        "-?[0-9]{1,4}\\.[0-9]{1,4}(e-?[0-9]{1,2})?".prop_map(TermKind::Float),
        prop_oneof![Just("nan"), Just("-infinity")].prop_map(|word| TermKind::Float(word.to_owned())),
        "[a-z'é\n -]{0,8}".prop_map(TermKind::Text),
        any::<bool>().prop_map(TermKind::Boolean),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(TermKind::Blob),
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}".prop_map(TermKind::Uuid),
    ];
    leaf.prop_map(kind).prop_recursive(3, 12, 3, move |inner| {
        let many = |from| prop::collection::vec(inner.clone(), from..3);
        prop_oneof![
            many(0).prop_map(TermKind::List),
            many(0).prop_map(TermKind::Set),
            many(1).prop_map(TermKind::Tuple),
            prop::collection::vec((inner.clone(), inner.clone()), 1..3).prop_map(TermKind::Map),
            prop::collection::vec((a_name(), inner.clone()), 1..3).prop_map(TermKind::Fields),
        ]
        .prop_map(kind)
    })
}

fn a_part() -> impl Strategy<Value = Option<Part>> + Clone {
    prop::option::of(prop_oneof![a_term().prop_map(Part::Element), a_name().prop_map(Part::Field)])
}

fn a_table() -> impl Strategy<Value = TableName> {
    (prop::option::of(a_name()), a_name()).prop_map(|(keyspace, name)| TableName { keyspace, name })
}

fn relations() -> impl Strategy<Value = Vec<Relation>> {
    let comparisons = prop::sample::select(vec![Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Ge]);
    let test = prop_oneof![
        (comparisons, a_term()).prop_map(|(comparison, term)| RelationTest::Compare(comparison, term)),
        prop::collection::vec(a_term(), 0..3).prop_map(RelationTest::In),
    ];
    prop::collection::vec((a_name(), test).prop_map(|(column, test)| Relation { column, test }), 1..3)
}

fn an_assignment() -> impl Strategy<Value = Assignment> {
    let ops =
        prop::sample::select(vec![AssignmentOp::Set, AssignmentOp::Add, AssignmentOp::Subtract, AssignmentOp::Prepend]);
    (a_name(), a_part(), ops, a_term()).prop_map(|(column, part, op, term)| {
        let op = if part.is_some() { AssignmentOp::Set } else { op };
        Assignment { column, part, op, operand: Operand::Term(term) }
    })
}

fn a_selector() -> impl Strategy<Value = Selector> {
    let function = prop::option::of(prop::sample::select(Function::ALL.to_vec()));
    (function, a_name(), a_part(), prop::option::of(a_name())).prop_map(|(function, column, part, alias)| {
        let part = part.filter(|_| function.is_none());
        Selector { function, column, part, alias }
    })
}

fn a_select() -> impl Strategy<Value = StatementKind> {
    let selectors = prop::collection::vec(a_selector(), 1..3).prop_map(Selection::Columns);
    let order = prop::collection::vec((a_name(), any::<bool>()), 0..3);
    let limit = prop::option::of("[1-9]{1,3}".prop_map(|digits| Term { kind: TermKind::Integer(digits), at: AT }));
    (selectors, a_table(), relations(), order, limit, any::<bool>()).prop_map(
        |(selection, table, relations, order_by, limit, allow_filtering)| {
            let clauses = Clauses { group_by: Vec::new(), order_by, allow_filtering };
            StatementKind::Select(Select { selection, table, relations, clauses, limit, at: AT })
        },
    )
}

fn a_mutation() -> impl Strategy<Value = Mutation> {
    let values = prop::collection::vec((a_name(), a_term().prop_map(Operand::Term)), 1..4);
    let insert = (a_table(), values).prop_map(|(table, values)| {
        Mutation::Insert(Insert { table, values, json: None, condition: None, using: Using::default(), at: AT })
    });
    let update = (a_table(), prop::collection::vec(an_assignment(), 1..3), relations()).prop_map(
        |(table, assignments, relations)| {
            let using = Using::default();
            Mutation::Update(Update { table, using, assignments, relations, condition: None, at: AT })
        },
    );
    let columns = prop::collection::vec((a_name(), a_part()), 0..3);
    let delete = (columns, a_table(), relations()).prop_map(|(columns, table, relations)| {
        let using = Using::default();
        Mutation::Delete(Delete { columns, table, using, relations, condition: None, at: AT })
    });
    prop_oneof![insert, update, delete]
}

proptest! {
    #[test]
    fn law_a_printed_tree_parses_to_itself(
        kind in prop_oneof![a_select(), a_mutation().prop_map(StatementKind::Mutation)],
    ) {
        let statement = Statement { kind, markers: Vec::new() };
        let printed = statement.to_string();
        let again = crate::parse(&printed).map_err(|error| TestCaseError::fail(format!("{printed}: {error}")))?;
        prop_assert_eq!(super::tests::without_places(&again), super::tests::without_places(&statement), "{}", printed);
    }
}

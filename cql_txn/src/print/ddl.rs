//! Statements on the schema back to text.

use super::Printer;
use crate::ast::{
    AlterTable, Alteration, ColumnDefinition, CreateTable, CreateType, OptionValue, TableOption, TypeName,
};
use std::fmt::{self, Write as _};

impl Printer<'_, '_> {
    fn type_name(&mut self, of: &TypeName) -> fmt::Result {
        // `set` is reserved everywhere but here.
        if of.name.text == "set" {
            self.text("set")?
        } else {
            self.name(&of.name)?
        }
        if of.arguments.is_empty() { Ok(()) } else { self.bracketed("<", &of.arguments, ">", Self::type_name) }
    }

    fn column_definition(&mut self, column: &ColumnDefinition) -> fmt::Result {
        self.name(&column.name)?;
        self.text(" ")?;
        self.type_name(&column.type_name)?;
        self.text(if column.is_static { " STATIC" } else { "" })?;
        self.text(if column.is_primary_key { " PRIMARY KEY" } else { "" })
    }

    pub(super) fn create_type(&mut self, create: &CreateType) -> fmt::Result {
        self.text(if create.if_not_exists { "CREATE TYPE IF NOT EXISTS " } else { "CREATE TYPE " })?;
        self.table(&create.name)?;
        self.bracketed(" (", &create.fields, ")", |printer, (name, ty)| {
            printer.name(name)?;
            printer.text(" ")?;
            printer.type_name(ty)
        })
    }

    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> fmt::Result {
        self.text(if alter.if_exists { "ALTER TABLE IF EXISTS " } else { "ALTER TABLE " })?;
        self.table(&alter.table)?;
        match &alter.change {
            Alteration::Add { if_not_exists, columns } => {
                self.text(if *if_not_exists { " ADD IF NOT EXISTS " } else { " ADD " })?;
                self.bracketed("(", columns, ")", Self::column_definition)
            }
            Alteration::Drop(columns) => self.bracketed(" DROP (", columns, ")", Self::name),
            Alteration::Rename(names) => {
                self.text(" RENAME ")?;
                self.each(names, " AND ", |printer, (from, to)| {
                    printer.name(from)?;
                    printer.text(" TO ")?;
                    printer.name(to)
                })
            }
            Alteration::With(options) => self.options(" WITH ", options),
        }
    }

    pub(super) fn create_table(&mut self, create: &CreateTable) -> fmt::Result {
        self.text(if create.if_not_exists { "CREATE TABLE IF NOT EXISTS " } else { "CREATE TABLE " })?;
        self.table(&create.table)?;
        self.text(" (")?;
        self.each(&create.columns, ", ", Self::column_definition)?;
        if let Some(key) = &create.primary_key {
            self.text(", PRIMARY KEY ((")?;
            self.each(&key.partition, ", ", Self::name)?;
            self.text(")")?;
            self.each(&key.clustering, "", |printer, column| {
                printer.text(", ")?;
                printer.name(column)
            })?;
            self.text(")")?;
        }
        self.text(")")?;
        if create.clustering_order.is_empty() {
            return self.options(" WITH ", &create.options);
        }
        self.text(" WITH CLUSTERING ORDER BY (")?;
        self.each(&create.clustering_order, ", ", Self::ordered)?;
        self.text(")")?;
        self.options(" AND ", &create.options)
    }

    pub(super) fn options(&mut self, first: &str, options: &[TableOption]) -> fmt::Result {
        let mut word = first;
        for option in options {
            self.text(word)?;
            self.name(&option.name)?;
            self.text(" = ")?;
            match &option.value {
                OptionValue::Scalar(text) => self.string(text)?,
                OptionValue::Map(entries) => {
                    self.f.write_char('{')?;
                    self.each(entries, ", ", |printer, (key, value)| {
                        printer.string(key)?;
                        printer.text(": ")?;
                        printer.string(value)
                    })?;
                    self.f.write_char('}')?;
                }
            }
            word = " AND ";
        }
        Ok(())
    }
}

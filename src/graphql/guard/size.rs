//! How much a document asks for: one pass over it, each fragment measured once.

use std::collections::HashMap;

use async_graphql::parser::types::{ExecutableDocument, Field, Selection, SelectionSet};
use async_graphql::{Name, Pos, Positioned, Variables};

use super::arguments::items;
use super::limit::{Excess, Limit};
use crate::graphql::document::Survey;

/// Selections within selections, fragments included: what keeps every walk through a document, the engine's
/// too, well within its stack. Honest documents stay below the limit of depth, twice at most.
const LEVELS: usize = 32;

/// What a set of selections asks for, with fragments spread. All sums saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Fields, `__typename` included.
    pub fields: usize,
    /// Fields right in this set.
    pub width: usize,
    /// Fields within fields.
    pub depth: usize,
    /// The same below `__schema` and `__type`, counted from there.
    pub introspection_depth: usize,
    /// Fields with another name.
    pub aliases: usize,
    /// Directives.
    pub directives: usize,
    /// Values, by the sizes of pages.
    pub cost: usize,
    /// Values of the schema, by the usual sizes of its lists.
    pub introspection: usize,
}

impl Size {
    fn add(&mut self, other: Self) {
        self.fields = self.fields.saturating_add(other.fields);
        self.width = self.width.saturating_add(other.width);
        self.depth = self.depth.max(other.depth);
        self.introspection_depth = self.introspection_depth.max(other.introspection_depth);
        self.aliases = self.aliases.saturating_add(other.aliases);
        self.directives = self.directives.saturating_add(other.directives);
        self.cost = self.cost.saturating_add(other.cost);
        self.introspection = self.introspection.saturating_add(other.introspection);
    }
}

/// Measures a document.
pub struct Sizes<'a> {
    document: &'a ExecutableDocument,
    variables: &'a Variables,
    /// None while a fragment is being measured: met again then, it contains itself.
    known: HashMap<&'a Name, Option<Size>>,
    /// What was seen of likes on the way.
    pub survey: Survey,
    /// The first fragment that no operation uses.
    pub unused: Option<(&'a Name, Pos)>,
}

impl<'a> Sizes<'a> {
    pub fn new(document: &'a ExecutableDocument, variables: &'a Variables) -> Self {
        Self {
            document,
            variables,
            known: HashMap::new(),
            survey: Survey::default(),
            unused: None,
        }
    }

    /// The sizes of all operations, and of fragments that none of them may use.
    ///
    /// # Errors
    /// A fragment contains itself, or there is no end to selections within selections.
    pub fn measure(&mut self) -> Result<(Vec<Size>, Vec<Size>), Excess> {
        let document = self.document;
        let operations = document.operations.iter().map(|(_, operation)| {
            let operation = &operation.node;
            let mut size = self.of_set(&operation.selection_set.node, 0)?;
            let variables = operation.variable_definitions.iter();
            let on_variables: usize = variables.map(|it| it.node.directives.len()).sum();
            size.directives += operation.directives.len() + on_variables;
            Ok(size)
        });
        let operations = operations.collect::<Result<_, _>>()?;
        let unused = document.fragments.iter();
        let unused = unused.filter(|(name, _)| !self.known.contains_key(name));
        let unused = unused.map(|(name, fragment)| (name, fragment.pos));
        self.unused = unused.min_by_key(|(_, pos)| *pos);
        let names = document.fragments.keys();
        let fragments = names.map(|name| self.of_fragment(name, 0));
        let fragments = fragments.collect::<Result<_, _>>()?;
        Ok((operations, fragments))
    }

    fn of_set(&mut self, set: &'a SelectionSet, level: usize) -> Result<Size, Excess> {
        if level > LEVELS {
            return Err(Excess::new(Limit::Depth, LEVELS));
        }
        let mut sum = Size::default();
        for selection in &set.items {
            let mut size = match &selection.node {
                Selection::Field(field) => self.of_field(&field.node, level)?,
                Selection::InlineFragment(inline) => {
                    self.of_set(&inline.node.selection_set.node, level + 1)?
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name;
                    let at_spread = |excess| Excess {
                        at: Some(name.pos),
                        ..excess
                    };
                    self.of_fragment(&name.node, level + 1).map_err(at_spread)?
                }
            };
            let directives = selection.node.directives().len();
            size.directives = size.directives.saturating_add(directives);
            sum.add(size);
        }
        Ok(sum)
    }

    fn of_field(&mut self, field: &'a Field, level: usize) -> Result<Size, Excess> {
        self.survey.note(field, self.document, self.variables);
        let below = self.of_set(&field.selection_set.node, level + 1)?;
        let items = items(field, self.document, self.variables);
        let cost = below.cost.saturating_mul(items).saturating_add(1);
        let mut size = Size {
            fields: below.fields.saturating_add(1),
            width: 1,
            depth: below.depth.saturating_add(1),
            aliases: below.aliases.saturating_add(field.alias.is_some().into()),
            cost,
            ..below
        };
        if matches!(field.name.node.as_str(), "__schema" | "__type") {
            size.introspection_depth = size.introspection_depth.max(size.depth);
            size.introspection = size.introspection.saturating_add(cost);
            (size.depth, size.cost) = (1, 1);
        }
        Ok(size)
    }

    fn of_fragment(&mut self, name: &'a Name, level: usize) -> Result<Size, Excess> {
        // An unknown fragment is refused by validation.
        let Some(Positioned { node: fragment, .. }) = self.document.fragments.get(name) else {
            return Ok(Size::default());
        };
        if let Some(known) = self.known.get(name) {
            return known.ok_or(Excess::new(Limit::Cycle, 0));
        }
        self.known.insert(name, None);
        let mut size = self.of_set(&fragment.selection_set.node, level)?;
        size.directives = size.directives.saturating_add(fragment.directives.len());
        self.known.insert(name, Some(size));
        Ok(size)
    }
}

//! Runs the scripts of `src/cache/lua` as Redis does, with one or the other guard taken out.

use std::cell::RefCell;
use std::collections::HashMap;

use mlua::{Function, Lua, Value as LuaValue, Variadic};

use super::data::{Answer, Data};

/// What keeps the invariant: each can be taken out, to see that the model notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Guard {
    /// A rebuild commits only under its own lease.
    Lease,
    /// A rebuild begins only when nothing is pending.
    Begin,
    /// A rebuild commits as many likers as it has read.
    Count,
    /// A batch is persisted only from the checkpoint that it was read from.
    Fence,
    /// An event names the one before it.
    Chain,
    /// A doubted partition loses its leases too.
    Doubt,
    /// A newer event stays pending when an older one is settled.
    Settle,
}

const SCRIPTS: [&str; 9] = [
    include_str!("../../src/cache/lua/begin.lua"),
    include_str!("../../src/cache/lua/change.lua"),
    include_str!("../../src/cache/lua/claim.lua"),
    include_str!("../../src/cache/lua/commit.lua"),
    include_str!("../../src/cache/lua/forget.lua"),
    include_str!("../../src/cache/lua/release.lua"),
    include_str!("../../src/cache/lua/settle.lua"),
    include_str!("../../src/cache/lua/stage.lua"),
    include_str!("../../src/cache/lua/tail.lua"),
];

/// A line of a script that is a guard, and the line without it.
fn weakening(guard: Guard) -> Option<(&'static str, &'static str)> {
    match guard {
        Guard::Lease => Some((
            "local own = redis.call('GET', KEYS[3]) == ARGV[3]",
            "local own = true",
        )),
        Guard::Begin => Some((
            "if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 2 end",
            "",
        )),
        Guard::Count => Some(("redis.call('ZCARD', KEYS[4]) == tonumber(ARGV[6])", "true")),
        Guard::Settle => Some(("if redis.call('HGET', KEYS[1], activity) == id then", "do")),
        Guard::Fence | Guard::Chain | Guard::Doubt => None,
    }
}

thread_local! {
    static LUA: Lua = Lua::new();
    /// Compiled scripts by guard taken out and digest.
    static COMPILED: RefCell<HashMap<Option<Guard>, HashMap<String, Function>>> = RefCell::default();
}

/// Runs a script by its digest.
pub fn run(
    data: &mut Data,
    without: Option<Guard>,
    digest: &str,
    keys: &[&str],
    args: &[&str],
    now: u64,
) -> Answer {
    let script = COMPILED.with_borrow_mut(|compiled| {
        let scripts = compiled.entry(without).or_insert_with(|| compile(without));
        scripts[digest].clone()
    });
    LUA.with(|lua| {
        let globals = lua.globals();
        globals.set("KEYS", keys).unwrap();
        globals.set("ARGV", args).unwrap();
        let data = RefCell::new(data);
        let answer = lua.scope(|scope| {
            let call = scope.create_function(|lua, command: Variadic<LuaValue>| {
                let command: Vec<String> = command.iter().map(argument).collect();
                let command: Vec<&str> = command.iter().map(String::as_str).collect();
                into_lua(lua, data.borrow_mut().run(&command, now))
            })?;
            let redis = lua.create_table()?;
            redis.set("call", &call)?;
            redis.set("pcall", &call)?;
            globals.set("redis", redis)?;
            script.call::<LuaValue>(())
        });
        from_lua(&answer.unwrap_or_else(|error| panic!("{error}")))
    })
}

fn compile(without: Option<Guard>) -> HashMap<String, Function> {
    let weakening = without.and_then(weakening);
    if let Some((guard, _)) = weakening {
        let found = SCRIPTS.iter().filter(|script| script.contains(guard));
        assert_eq!(found.count(), 1, "no script has {guard:?}");
    }
    let compiled = SCRIPTS.iter().map(|script| {
        let digest = redis::Script::new(script).get_hash().to_owned();
        let text = match weakening {
            Some((guard, weakened)) => script.replace(guard, weakened),
            None => (*script).to_owned(),
        };
        let function = LUA.with(|lua| lua.load(text).into_function().unwrap());
        (digest, function)
    });
    compiled.collect()
}

fn argument(value: &LuaValue) -> String {
    match value {
        LuaValue::String(text) => text.to_str().unwrap().to_owned(),
        LuaValue::Integer(number) => number.to_string(),
        // Redis prints 17 digits; whole numbers below 2^53 come out as they are.
        LuaValue::Number(number) => format!("{number}"),
        other => panic!("{other:?} is no argument"),
    }
}

fn into_lua(lua: &Lua, answer: Answer) -> mlua::Result<LuaValue> {
    Ok(match answer {
        Answer::Nil => LuaValue::Boolean(false),
        #[expect(clippy::cast_precision_loss, reason = "Redis' Lua has doubles only")]
        Answer::Int(number) => LuaValue::Number(number as f64),
        Answer::Text(text) => LuaValue::String(lua.create_string(text)?),
        Answer::Error(text) => {
            let table = lua.create_table()?;
            table.set("err", text)?;
            LuaValue::Table(table)
        }
        Answer::List(items) => {
            let table = lua.create_table()?;
            for item in items {
                table.push(into_lua(lua, item)?)?;
            }
            LuaValue::Table(table)
        }
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "Redis cuts numbers of scripts to whole ones"
)]
fn from_lua(value: &LuaValue) -> Answer {
    match value {
        LuaValue::Nil | LuaValue::Boolean(false) => Answer::Nil,
        LuaValue::Integer(number) => Answer::Int(*number),
        LuaValue::Number(number) => Answer::Int(*number as i64),
        LuaValue::String(text) => Answer::Text(text.to_str().unwrap().to_owned()),
        LuaValue::Table(table) => {
            let items = table.sequence_values::<LuaValue>();
            Answer::List(items.map(|item| from_lua(&item.unwrap())).collect())
        }
        other => panic!("{other:?} is no answer"),
    }
}

//! Who sends a request, and what it costs.

use std::net::IpAddr;

use super::Identity;

/// Who sends a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// What a verified token says; None without one.
    pub identity: Option<Identity>,
    /// Where the request comes from, as far as that is known.
    pub address: Option<IpAddr>,
}

impl Caller {
    /// Under which name it is counted what this caller does: the user's, or the address of somebody without a
    /// token. Of an IPv6 address the network counts, since every customer of a provider has one.
    pub fn name(&self) -> String {
        if let Some(identity) = &self.identity {
            return format!("user:{}", identity.subject.as_str());
        }
        match self.address.map(|address| address.to_canonical()) {
            None => "nobody".to_owned(),
            Some(IpAddr::V4(address)) => format!("address:{address}"),
            Some(IpAddr::V6(address)) => {
                let network = address.to_bits() >> 64;
                format!("network:{network:016x}")
            }
        }
    }
}

/// What a request costs whoever sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// By and large the values that it may be answered with.
    pub reads: usize,
    /// How often it changes something; each alias is one more.
    pub changes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(address: &str) -> String {
        let caller = Caller {
            identity: None,
            address: Some(address.parse().unwrap()),
        };
        caller.name()
    }

    #[test]
    fn neighbours_in_one_network_are_one_caller() {
        assert_eq!(name("2001:db8::1"), name("2001:db8::ffff:2"));
        assert_ne!(name("2001:db8::1"), name("2001:db8:0:1::1"));
        assert_ne!(name("192.0.2.1"), name("192.0.2.2"));
        assert_eq!(name("192.0.2.1"), name("::ffff:192.0.2.1"));
    }

    #[test]
    fn a_user_is_the_same_from_anywhere_and_never_an_address() {
        let identity = Identity {
            subject: "192.0.2.1".parse().unwrap(),
            name: None,
            picture: None,
        };
        let caller = Caller {
            identity: Some(identity),
            address: None,
        };
        assert_eq!(caller.name(), "user:192.0.2.1");
        assert_ne!(caller.name(), name("192.0.2.1"));
    }
}

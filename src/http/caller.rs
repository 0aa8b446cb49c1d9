//! Where a request comes from.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap, HeaderName};

/// Where a request comes from: what the proxy in front says, if one is named, else the other end of the connection.
pub(super) fn address(
    headers: &HeaderMap,
    extensions: &Extensions,
    proxy: Option<&HeaderName>,
) -> Option<IpAddr> {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map(|ConnectInfo(peer)| peer.ip());
    let Some(name) = proxy else {
        return peer;
    };
    // Each proxy appends the address that it saw. Only the last one was written by a proxy of ours.
    let last = headers.get_all(name).iter().next_back();
    let last = last.and_then(|value| value.to_str().ok()?.rsplit(',').next());
    last.and_then(|text| text.trim().parse().ok()).or(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_one_that_the_nearest_proxy_saw() {
        let mut extensions = Extensions::new();
        let peer: SocketAddr = "10.0.0.1:4000".parse().unwrap();
        extensions.insert(ConnectInfo(peer));
        let mut headers = HeaderMap::new();
        let name = HeaderName::from_static("x-forwarded-for");
        let seen = |headers: &HeaderMap, proxy| address(headers, &extensions, proxy);
        assert_eq!(seen(&headers, Some(&name)), Some(peer.ip()));
        headers.append(&name, "192.0.2.66".parse().unwrap());
        headers.append(&name, "192.0.2.7, 192.0.2.8".parse().unwrap());
        // Without a proxy, what a client writes there counts for nothing.
        assert_eq!(seen(&headers, None), Some(peer.ip()));
        let expected = "192.0.2.8".parse().ok();
        assert_eq!(seen(&headers, Some(&name)), expected);
        headers.append(&name, "garbage".parse().unwrap());
        assert_eq!(seen(&headers, Some(&name)), Some(peer.ip()));
    }
}

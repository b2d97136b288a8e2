// Package egress is the one way from the sandbox to the network: a proxy that
// speaks HTTP, CONNECT and SOCKS5 on one listener, resolves names itself, and
// connects to what the rules allow.
//
//	listener in the sandbox's network ─► first byte ─► SOCKS5 │ CONNECT │ HTTP
//	                                                      │        │       │ each request
//	                                                      ▼        ▼       ▼
//	                        Session (one command) ◄─── host and port ─► Rules ─► Ask a person
//	                          what was refused            │ allowed       └ refused: 403, 0x02
//	                                                      ▼
//	                     name ─► addresses ─► public, or listed? ─► that address is connected to
//	                                                      │
//	                         first bytes of a tunnel: TLS for this host │ HTTP: judged │ others pass
//
// The shortest use:
//
//	rules, err := egress.Compile(egress.Layer{Allow: []string{"*.example.com", "localhost:4873"}})
//	proxy, err := egress.New(rules, nil)
//	session := &egress.Session{ID: "command 7"}
//	err = proxy.Serve(ctx, listener, session) // until ctx ends
//	fmt.Println(session.Refusals())
//
// # What is allowed
//
// Every [Layer] must allow a host; a Deny entry of any layer beats all. An empty
// list allows nothing. The host is brought into one form first: lower case, without
// the dot at the end; letters of ASCII, digits and hyphens only (other scripts
// come in punycode, as clients send them); "127.1", "0x7f000001" and
// "::ffff:127.0.0.1" are 127.0.0.1. The name is judged before anything is looked up.
//
// An entry without a port opens 80, 443 and every port from 1024 on: registries
// have odd ports. What is below is for services of their own (ssh, mail, DNS) and
// needs its number: "github.com:22".
//
// "*" and "*.example.com" cover names, never addresses. A name leads only to
// public addresses; one of this machine, its network or a cloud's metadata must be
// in the same list: "10.1.2.3", "10.0.0.0/8". "localhost" means the loopback of the
// host. The address that was judged is the one that is connected to.
//
// # What tunnels may hold
//
// TLS must name the host that was allowed (SNI); one that names another or none is
// closed. To an address that is listed as such, TLS names nobody, or a host that
// the rules allow. What is behind the hello nobody sees: an outer name that is
// right hides an inner one (ECH), and a host of many names may answer for another.
// HTTP/1 inside a tunnel is judged request by request, as outside; HTTP/2 without
// TLS is closed. Everything else, such as ssh, passes as it is. A tunnel through
// which nothing passes for an hour is closed ([Limits].TunnelTime).
//
// A wildcard lets a command tell the owner of the domain something by the names it
// looks up: that is what such an entry allows. How many different ones a minute is
// limited, and each is logged.
//
// # A proxy of the person's own
//
// With [Options].HTTPUpstream or SOCKSUpstream what passes goes on through a proxy
// on 127.0.0.1. It gets names and resolves them: which addresses they may have is
// then its business.
//
// The package is not a firewall: what does not go through its listener it does not
// see. That there is no other way is the network namespace's work.
package egress

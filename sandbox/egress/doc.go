// Package egress is the one way from the sandbox to the network: a proxy that
// speaks HTTP, CONNECT and SOCKS5 on one listener, resolves names itself, and
// connects to what the rules allow.
//
//	listener in the sandbox's network ─► first byte ─► SOCKS5 | HTTP ─► host and port ─► Rules ─► dial
//	                                                                        └ refused: 403, told
package egress

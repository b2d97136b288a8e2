// Package redis is a client for Redis and Valkey servers. It has the features that a session store
// needs: commands, pipelines, scripts, and subscriptions.
//
//	client := redis.New(redis.Options{Addr: "127.0.0.1:6379", Timeout: 10 * time.Second})
//	defer client.Close()
//	reply, err := client.Do(ctx, "GET", "key")
//
//	Client ──► pool ──► Conn   one pool per server, at most Options.Size connections
//	   │                       a connection with a partly read reply is closed
//	   └─► Subscriber ──► Conn one connection that listens
//
// In a cluster, a client works in one slot, that of [Options.Key]. It finds the server that owns
// the slot, and finds the new owner if the slot moves. Commands for other slots fail.
//
// A command is never sent again after a lost connection, because only the caller knows whether that
// is safe. The protocol is RESP2.
//
// Source: Redis serialization protocol specification, Redis cluster specification.
package redis

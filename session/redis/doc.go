// Package redis stores sessions on a Redis or Valkey server.
//
//	store, err := redis.Open(ctx, "redis://127.0.0.1:6379/0", nil)
//	if err != nil {
//		return err // with a hint, see session.Hint
//	}
//	defer store.Close()
//	sessions := session.New(store, nil)
//
// All keys start with {PREFIX}, so that they are in one slot of a cluster and several stores can be
// on one server:
//
//	{holdfast:}format        string  "holdfast redis store 1"
//	{holdfast:}epoch         string  the last epoch used
//	{holdfast:}session:ID    hash    the session's meta
//	{holdfast:}records:ID    list    its records, the n-th own one is element n-1
//	{holdfast:}lease:ID      hash    its lease
//	{holdfast:}live, trash   zset    what lists show, by the time of the last update
//	{holdfast:}by:FIELD:…    set     the sessions with that project, tag, …
//	{holdfast:}forks:ID      zset    its forks, by the last seq that they share
//
// Every change is one script: its comparisons (the head, the lease's epoch) and its changes are
// atomic, and the server writes it to its append-only file as a whole or not at all. Every request
// is safe to repeat, and is repeated after a lost connection.
//
// An append is acknowledged when the server has it on its disk. [Open] rejects a server that
// answers earlier or may evict keys, unless the parameter durability allows it:
//
//	always    (default) appendonly yes and appendfsync always
//	wait      appendonly yes; each write waits for the sync (WAITAOF, Redis 7.2), up to 1 s
//	everysec  appendfsync everysec is accepted: a crash of the machine loses up to 1 s
//	none      no requirements: a restart of the server may lose everything
//
// A failover to a replica may lose acknowledged appends with any setting, because Redis replicates
// after the answer. All data must fit in the server's memory.
//
// The package is not a cache for another store. The format, its costs and the settings of a server
// are described in docs/formats/redis.md.
package redis

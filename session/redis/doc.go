// Package redis keeps sessions on a Redis or Valkey server.
//
//	store, err := redis.Open(ctx, "redis://127.0.0.1:6379/0", nil)
//	if err != nil {
//		return err // with a hint, see session.Hint
//	}
//	defer store.Close()
//	sessions := session.New(store, nil)
//
// All keys begin with {PREFIX}, so that they are in one slot of a cluster and several
// stores can be on one server:
//
//	{holdfast:}format        string  "holdfast redis store 1"
//	{holdfast:}epoch         string  the last epoch given
//	{holdfast:}session:ID    hash    the session's meta
//	{holdfast:}records:ID    list    its records, the n-th own one is element n-1
//	{holdfast:}lease:ID      hash    who holds it
//	{holdfast:}live, trash   zset    what lists show, by the time of the last update
//	{holdfast:}by:FIELD:…    set     the sessions with that project, tag, …
//	{holdfast:}forks:ID      zset    its forks, by the seq that they begin behind
//
// Every change is one script: what it compares (the head, the lease's epoch) and what it
// changes is one step, and the server writes it to its append-only file as a whole or not
// at all. Everything that is sent may be sent again: when a connection is lost, it is.
//
// An append counts when the server has it on its disk. So [Open] refuses a server that
// answers earlier, or that may throw keys away. The parameter durability says otherwise:
//
//	always    (default) appendonly yes and appendfsync always
//	wait      appendonly yes; each write waits for the sync (WAITAOF, Redis 7.2), up to 1 s
//	everysec  appendfsync everysec will do: a crash of the machine loses up to 1 s
//	none      nothing is asked for: a restart of the server may lose everything
//
// A failover to a replica may lose what was acknowledged whatever the settings: Redis
// replicates behind the answer. The memory of the server holds all of the data.
//
// The package is no cache in front of another store. The format, its costs and the
// settings of a server are described in docs/formats/redis.md.
package redis

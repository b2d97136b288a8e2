// Package engine speaks with what runs containers: Docker, or Podman where it answers
// Docker's API. It is the only package that knows that API, of which it speaks what
// workspaces need, over net/http; internal/oracle compares it with Docker's own client.
//
//	Connect ──► a socket that answers ──► Engine ─┬─ Create, Start, Stop, Remove   containers
//	  named, DOCKER_HOST, context,                ├─ Inspect, List, Logs, Watch
//	  Docker's, Podman's                          ├─ Exec                          a stream, where no socket goes
//	                                              └─ Image, Import, Build          images; nothing is pulled
//
// The shortest use:
//
//	e, err := engine.Connect(ctx, "")
//	defer e.Close()
//	id, err := e.Create(ctx, engine.Spec{Name: "one", Image: image.ID, User: "4711:4711", Command: []string{"/bin/agent"}})
//	err = e.Start(ctx, id)
//
// What is created is locked down, and a [Spec] has no field that would loosen it: no
// capabilities, no new privileges, no network, a root that cannot be written, the
// engine's own filter of system calls, an init that reaps. Every call has a time limit
// of its own besides the context's.
//
// Errors are an [*Error] around one of [ErrNoEngine], [ErrNotFound], [ErrConflict],
// [ErrNoImage], [ErrRefused]. An [Engine] may be used by many at once.
//
// The package knows nothing of workspaces: which containers there should be is its
// caller's business.
package engine

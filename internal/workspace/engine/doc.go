// Package engine is a client for the container engine: Docker, or Podman through Docker's API. It
// is the only package that uses that API. It implements the part that workspaces need, with
// net/http. internal/oracle compares it with Docker's own client.
//
//	Connect ──► a socket that answers ──► Engine ─┬─ Create, Start, Stop, Remove   containers
//	  named, DOCKER_HOST, context,                ├─ Inspect, List, Logs, Watch
//	  Docker's, Podman's                          ├─ Exec                          a stream, where sockets do not reach
//	                                              └─ Image, Import, Build          images; nothing is pulled
//
// The shortest use:
//
//	e, err := engine.Connect(ctx, "")
//	defer e.Close()
//	id, err := e.Create(ctx, engine.Spec{Name: "one", Image: image.ID, User: "4711:4711", Command: []string{"/bin/agent"}})
//	err = e.Start(ctx, id)
//
// Containers have few permissions, and a [Spec] has no field to change that: no capabilities, no
// new privileges, no network, a read-only root, the engine's system call filter, an init process
// that reaps other processes. Every call has its own time limit, in addition to the limit of the
// context.
//
// Errors are an [*Error] that wraps one of [ErrNoEngine], [ErrNotFound], [ErrConflict],
// [ErrNoImage], [ErrRefused]. An [Engine] is safe for concurrent use.
//
// The package does not depend on workspaces: the caller decides which containers exist.
package engine

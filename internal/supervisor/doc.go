// Package supervisor manages the processes in a workspace's container from the host.
//
//	host                              container
//	Dial ─ Conn ◄── frames, socket ──► Serve ─┬─ reaper ─ agent of one session and its tree
//	       Start ► Process                    └─ reaper ─ agent of another
//
// One connection is one process. The socket is a unix socket in a folder that both sides share; if that does not
// work, NewConn uses the stream of an exec of Attach. Losing the connection, or receiving nothing for half a
// minute, ends the process: no one could log its output.
//
//	conn, err := supervisor.Dial(ctx, "/home/u/.holdfast/workspaces/site/run/supervisor.sock")
//	p, err := conn.Start(ctx, supervisor.Spec{ID: "turn-7", Args: []string{"claude", "-p"}, Dir: "/work"})
//	io.Copy(os.Stdout, p.Stdout())
//	exit, err := p.Wait(ctx)
//
// Each process runs below a small helper process (package reaper) that adopts its orphans, so that the tree is
// known exactly and killing ends all of it. If the kernel has Landlock, each tree has a separate domain: it cannot
// replace the supervisor's socket, and cannot read or signal the processes of other sessions, although all have
// one uid. [Health] reports whether this works. It does not prevent one session from using up shared resources:
// memory, processes, disk.
//
// The package is not a sandbox: the container is the boundary. It knows no log, no policy and no vendor.
package supervisor

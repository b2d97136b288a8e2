// Package supervisor manages the processes in a workspace's container from the host.
//
//	host                              container
//	Dial ─ Conn ◄── frames, socket ──► Serve ─┬─ reaper ─ agent of one session and its tree
//	       Start ► Process                    └─ reaper ─ agent of another
//
// Each connection is for one process. The socket is a unix socket in a folder that both sides
// share; if that does not work, NewConn uses the stream of an exec of Attach. If the connection is
// lost, or nothing is received for half a minute, the process is ended, because no one could log
// its output.
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
// The package is not a sandbox: it relies on the container to confine the processes. It knows no
// log, no policy and no vendor.
package supervisor

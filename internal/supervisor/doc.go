// Package supervisor starts, feeds and ends the processes of a workspace's container,
// from the host.
//
//	host                              container
//	Dial ─ Conn ◄── frames, socket ──► Serve ─┬─ reaper ─ agent of one session and its tree
//	       Start ► Process                    └─ reaper ─ agent of another
//
// One connection is one process. The socket is a unix socket in a folder that both sides
// have; where that does not work, NewConn speaks over the stream of an exec of Attach.
// Losing the connection, or hearing nothing for half a minute, ends the process: nobody
// is there who could log what it says.
//
//	conn, err := supervisor.Dial(ctx, "/home/u/.holdfast/workspaces/site/run/supervisor.sock")
//	p, err := conn.Start(ctx, supervisor.Spec{ID: "turn-7", Args: []string{"claude", "-p"}, Dir: "/work"})
//	io.Copy(os.Stdout, p.Stdout())
//	exit, err := p.Wait(ctx)
//
// Each process stands below a small process of ours (package reaper) that inherits what
// it leaves behind, so that the tree is known exactly and killing ends all of it. Where
// the kernel has Landlock, each tree is in a domain of its own: it cannot replace the
// supervisor's socket, nor read or signal the processes of other sessions, though all
// have one uid. [Health] says whether that holds. It does not keep one session from using up
// what all have together: memory, processes, the disk.
//
// It is no sandbox: the container is the wall. It knows no log, no policy and no vendor.
package supervisor

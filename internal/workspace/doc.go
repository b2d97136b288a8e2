// Package workspace runs agents in persistent containers.
//
//	name ─► Settings (workspace.json) ─► container ─► supervisor ─► agent
//	          │                             │  /work            ◄── the project's folder
//	          │                             │  /home/agent      ◄── home, the agent's files
//	          └ $HOLDFAST_HOME/workspaces/<name>/ (0700)
//	              workspace.json  home/  run/  project/  lock
//
// A workspace is a name, a project folder, settings and a folder on disk. The container of a
// workspace is created when it is needed, and may be lost at any time. The session's log on the
// host is the authoritative memory of an agent. The home folder of the workspace is only a second
// copy.
//
// This is the shortest use. It creates a workspace, runs a turn in it and then deletes everything:
//
//	spaces, err := workspace.New(home, &workspace.Options{Sessions: sessions})
//	made, err := spaces.Create(ctx, workspace.Settings{Slug: "blog", Project: "/home/me/blog"})
//	agent, err := spaces.Agent(ctx, "blog", workspace.AgentOptions{})
//	for event, err := range agent.Run(ctx, transcript.Text("what is here?")) { … }
//	gone, err := spaces.Delete(ctx, "blog", nil)
//
// The files in home, run and the project were written by an untrusted program. The host reads them
// through [OpenRegular] and [Files], measures them with [Workspaces.Usage] and removes them with
// [Workspaces.Delete]. None of these functions follows a link, opens a file that is not regular, or
// enters a mount.
//
// This package does not run programs in a sandbox on the host; package sandbox does. Without a
// container engine it returns an error and runs nothing on the host.
package workspace

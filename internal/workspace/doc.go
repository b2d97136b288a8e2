// Package workspace runs agents in containers that come back.
//
//	slug ─► Settings (workspace.json) ─► container ─► supervisor ─► agent
//	          │                             │  /work            ◄── the project's folder
//	          │                             │  /home/agent      ◄── home, what the agent keeps
//	          └ $HOLDFAST_HOME/workspaces/<slug>/ (0700)
//	              workspace.json  home/  run/  project/  lock
//
// A workspace is a slug, a folder of a project, settings and what is kept of it on
// disk. Its container is made when it is needed and may be lost at any time: what an
// agent remembers is in the session's log on the host first, and in the home folder
// of the workspace second.
//
// The shortest use makes one, runs a turn in it and removes everything again:
//
//	spaces, err := workspace.New(home, &workspace.Options{Sessions: sessions})
//	made, err := spaces.Create(ctx, workspace.Settings{Slug: "blog", Project: "/home/me/blog"})
//	agent, err := spaces.Agent(ctx, "blog", workspace.AgentOptions{})
//	for event, err := range agent.Run(ctx, transcript.Text("what is here?")) { … }
//	gone, err := spaces.Delete(ctx, "blog", nil)
//
// What is in home, in run and in the project was written by a program that nobody
// trusts. The host reads it through [OpenRegular] and [Files], measures it with
// [Workspaces.Usage] and removes it with [Workspaces.Delete]: none of these follows a
// link, opens what is no regular file, or enters what is mounted there.
//
// The package is not a sandbox for programs of the host (package sandbox is), and
// without an engine for containers it refuses, rather than run anything on the host.
package workspace

// Package image builds the images that the containers of workspaces are made of.
//
//	our static binary ──────────────────────────► scratch: it, and nothing else
//	  + a base that the engine has, or debootstrap ► debian: a shell, git and search besides
//	      + packages of npm ───────────────────────► with Claude Code, Codex
//
//	id, err := image.Build(ctx, engine, image.Spec{Variant: image.Scratch}, func(p image.Progress) {
//		fmt.Println(p)
//	})
//
// Nothing is pulled and nothing is run while an image is built: files are sent to the
// engine as they are read, sorted, owned by root and without times, so that the same
// input gives the same layers. An image that is there and was made of the same input is
// taken as it is.
//
// docs/workspaces.md says what is in the images and how to make your own. The
// package starts no containers; package workspace does.
package image

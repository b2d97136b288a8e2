// Package image builds the images of workspace containers.
//
//	holdfast's static binary ────────────────────► scratch: the binary and nothing else
//	  + a base that the engine has, or debootstrap ► debian: also a shell, git and search
//	      + packages of npm ───────────────────────► with Claude Code, Codex
//
//	id, err := image.Build(ctx, engine, image.Spec{Variant: image.Scratch}, func(p image.Progress) {
//		fmt.Println(p)
//	})
//
// A build pulls no image and runs no command. Files are sent to the engine as they are read. They
// are sorted, belong to root and have no times, so that the same input produces the same layers. An
// existing image with the same input is reused.
//
// docs/workspaces.md describes the content of the images and how to build others. The package starts no
// containers; package workspace does.
package image

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// A workspace is created, changed, listed and deleted. Only a deletion that also removes a container needs an
// engine.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	spaces, err := workspace.New(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	made, err := spaces.Create(ctx, workspace.Settings{Slug: "blog", Agent: workspace.AgentSpec{Kind: workspace.KindClaude}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made.Slug, made.Agent.Kind, made.Limits.Memory, made.Network.Mode)

	_, err = spaces.Set(ctx, "blog", func(s *workspace.Settings) error {
		s.Limits.Memory = 4 << 30
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	list, err := spaces.List(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range list {
		fmt.Println(l.Slug, l.Settings.Limits.Memory)
	}

	if _, err := spaces.Delete(ctx, "blog", &workspace.DeleteOptions{NoEngine: true}); err != nil {
		log.Fatal(err)
	}
	_, err = spaces.Get(ctx, "blog")
	fmt.Println(err)
	// Output:
	// blog claude 2g none
	// blog 4g
	// read workspace blog: no such workspace
}

// A file that a container wrote is read without following links and without blocking.
func ExampleOpenRegular() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("hello"), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.txt")); err != nil {
		log.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()

	f, err := workspace.OpenRegular(root, "notes.txt", 1<<20)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Size, "bytes")
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	for _, path := range []string{"link.txt", "../notes.txt"} {
		_, err := workspace.OpenRegular(root, path, 1<<20)
		fmt.Println(errors.Is(err, workspace.ErrNotRegular), errors.Is(err, workspace.ErrOutside))
	}
	// Output:
	// 5 bytes
	// true false
	// false true
}

package rewind_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/rewind"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// A rewind to before a tool created a file removes the file.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	folders, err := workdir.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer folders.Close()

	// An agent does this when a tool is about to write.
	sessions := session.New(memory.New(), nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "s"})
	if err != nil {
		log.Fatal(err)
	}
	saved := record.FileSaved{
		Path: filepath.Join(folders.Roots()[0], "notes.txt"), Digest: record.FileAbsent, After: session.Digest(sha256.Sum256([]byte("hello"))).String(),
	}
	payload, err := saved.Payload()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := l.Append(ctx, session.Draft{Kind: record.KindFileSaved, Payload: payload}); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(saved.Path, []byte("hello"), 0o644); err != nil {
		log.Fatal(err)
	}
	if err := l.Close(); err != nil {
		log.Fatal(err)
	}

	plan, err := rewind.New(ctx, sessions, "s", rewind.Options{Seq: 1, Folders: folders, Actor: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range plan.Files {
		fmt.Println(f.Action, filepath.Base(f.Path))
	}
	if _, err := plan.Apply(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = os.Stat(saved.Path)
	fmt.Println("gone:", os.IsNotExist(err))
	// Output:
	// delete notes.txt
	// gone: true
}

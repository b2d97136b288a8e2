package search_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/session/search"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "index")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store := memory.New()
	items := []transcript.Item{{Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "Why does the deployment fail?"}}}}
	if err := session.New(store, nil).Save(ctx, "s", items, nil); err != nil {
		panic(err)
	}
	x, err := search.Open(ctx, filepath.Join(dir, "index.db"), store)
	if err != nil {
		panic(err)
	}
	defer x.Close()
	if err := x.Index(ctx); err != nil {
		panic(err)
	}
	found, err := x.Search(ctx, session.Search{Words: "deploy*"})
	if err != nil {
		panic(err)
	}
	for _, h := range found.Hits {
		fmt.Println(h.Session, h.Seq, h.Role, h.Excerpt)
	}
	// Output: s 2 user Why does the deployment fail?
}

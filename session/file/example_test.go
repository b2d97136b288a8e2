package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := file.Open(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	payload, _ := json.Marshal(session.Opened{Format: record.FormatVersion, SessionID: "first", Title: "hello"})
	r := session.Record{Seq: 1, ID: "r1", Time: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Kind: record.KindOpened, Payload: payload}
	r.Seal(session.Digest{})
	delta, _ := session.Fold([]session.Record{r})
	if err := store.Append(context.Background(), "first", session.Batch{Records: []session.Record{r}, Delta: delta}); err != nil {
		fmt.Println(err)
		return
	}

	log, _ := os.ReadFile(filepath.Join(dir, "first", "log.jsonl"))
	_, line, _ := strings.Cut(string(log), "{")
	fmt.Println("{" + line[:62] + "…")
	page, _ := store.List(context.Background(), session.Query{})
	fmt.Println(page.Sessions[0].ID, page.Sessions[0].Title)
	// Output:
	// {"seq":1,"id":"r1","time":"2026-01-02T15:04:05.000Z","kind":"se…
	// first hello
}

// Reading backwards finds the end of a log of any size at once.
func ExampleStore_Read() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := file.Open(dir, &file.Options{OpenSessions: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	for _, err := range store.Read(context.Background(), "nobody", session.Range{Reverse: true, Limit: 50}) {
		fmt.Println(err)
	}
	// Output:
	// read session nobody: no such session
}

package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// openStore opens the store that a URL names and returns its sessions. The
// function it returns closes the store. What is appended is witnessed by the
// store's trail (lateTrail); a store in memory has none.
func (p *Program) openStore(url string) (*session.Sessions, func(), error) {
	return p.openWitnessed(url, nil)
}

// openWitnessed is openStore with one more witness: around makes it of the trail's.
func (p *Program) openWitnessed(url string, around func(session.Witness) session.Witness) (*session.Sessions, func(), error) {
	url, err := p.storeURL(url)
	if err != nil {
		return nil, nil, err
	}
	o := session.Options{Clock: p.Now}
	var trail *lateTrail
	if url != inMemory {
		trail = &lateTrail{clock: p.Now}
		trail.dir, trail.err = p.trailDir(url)
		o.Witness = trail
	}
	if around != nil {
		o.Witness = around(o.Witness)
	}
	scheme, path, _ := strings.Cut(url, ":")
	var store session.Store
	switch scheme {
	case "sqlite":
		store, err = sqlite.Open(path, nil)
	case "file":
		store, err = file.Open(path, nil)
	case "memory":
		store = memory.New()
	}
	if err != nil {
		return nil, nil, err
	}
	closeStore := func() {
		if err := trail.close(); err != nil {
			p.warn("close the audit trail: %v", err)
		}
		if c, ok := store.(io.Closer); ok {
			if err := c.Close(); err != nil {
				p.warn("close the store: %v", err)
			}
		}
	}
	return session.New(store, &o), closeStore, nil
}

// inMemory is the URL of a store that ends with the program.
const inMemory = "memory:"

// storeURL completes a store's URL: the flag, else HOLDFAST_STORE, else the
// database in the home folder. Paths come out absolute.
func (p *Program) storeURL(url string) (string, error) {
	if url == "" {
		url = p.env("HOLDFAST_STORE")
	}
	if url == "" {
		home, err := p.home()
		return "sqlite:" + filepath.Join(home, "sessions.db"), err
	}
	scheme, path, ok := strings.Cut(url, ":")
	const hint = "use sqlite:PATH, file:FOLDER or memory:"
	switch {
	case url == inMemory:
		return url, nil
	case !ok || scheme != "sqlite" && scheme != "file":
		return "", usage(fmt.Sprintf("%q is not a store", url), hint)
	}
	path = strings.TrimPrefix(path, "//")
	if path == "" {
		return "", usage(fmt.Sprintf("the store %q names no path", url), hint)
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(p.env("HOME"), rest)
	}
	if !filepath.IsAbs(path) {
		wd, err := p.Getwd()
		if err != nil {
			return "", err
		}
		path = filepath.Join(wd, path)
	}
	return scheme + ":" + filepath.Clean(path), nil
}

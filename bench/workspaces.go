//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/internal/workspace/image"
	"github.com/holdfast-dev/holdfast/session"
)

// containers, warmTurns and vendorTokens measure agents in containers. They measure the time to reach a
// container, a turn when everything is already running, and the text that a vendor agent receives.
func (b *bench) containers(ctx context.Context) error {
	return b.withWorkspaces(ctx, (*workspaceBench).reach)
}

func (b *bench) warmTurns(ctx context.Context) error {
	return b.withWorkspaces(ctx, (*workspaceBench).builtinTurns, (*workspaceBench).vendorTurns)
}

func (b *bench) vendorTokens(ctx context.Context) error {
	return b.withWorkspaces(ctx, (*workspaceBench).standInTokens, (*workspaceBench).realTokens)
}

// withWorkspaces measures parts in a new home folder.
func (b *bench) withWorkspaces(ctx context.Context, parts ...func(*workspaceBench, context.Context) error) error {
	e, err := findEngine()
	if err != nil {
		return err
	}
	if e == nil {
		if !b.reportedNoEngine {
			b.add("workspaces", "-", "", "", "not measured: "+noEngine)
		}
		b.reportedNoEngine = true
		return nil
	}
	s := &workspaceBench{bench: b, engine: e}
	defer s.close()
	if err := s.open(ctx); err != nil {
		return err
	}
	for _, part := range parts {
		if err := part(s, ctx); err != nil {
			return err
		}
	}
	return nil
}

// workspaceBench is a home folder with workspaces, on one engine.
type workspaceBench struct {
	*bench
	engine   *bareEngine
	spaces   *workspace.Workspaces
	folder   string // its home
	sessions *session.Sessions
	store    session.Store
	binary   string
	image    string
	made     []string // workspaces
	images   []string
}

func (s *workspaceBench) open(ctx context.Context) (err error) {
	if s.binary = os.Getenv("HOLDFAST_TEST_BINARY"); s.binary == "" {
		if s.binary, err = s.build(ctx, "./cmd/holdfast", "holdfast"); err != nil {
			return err
		}
	}
	if s.folder, err = os.MkdirTemp(s.dir, "studio-"); err != nil {
		return err
	}
	if s.store, err = openSQLite(s.folder); err != nil {
		return err
	}
	s.sessions = session.New(s.store, nil)
	if s.spaces, err = workspace.New(s.folder, nil); err != nil {
		return err
	}
	s.image = fmt.Sprintf("holdfast-bench/scratch:%d", os.Getpid())
	return s.makeImage(ctx, image.Spec{Variant: image.Scratch, Tag: s.image, Binary: s.binary})
}

func (s *workspaceBench) makeImage(ctx context.Context, i image.Spec) error {
	if _, err := s.spaces.BuildImage(ctx, i, nil); err != nil {
		return fmt.Errorf("image %s: %w", i.Tag, err)
	}
	s.images = append(s.images, i.Tag)
	return nil
}

// create creates a workspace and returns its project's folder.
func (s *workspaceBench) create(ctx context.Context, set workspace.Settings) (project string, err error) {
	if set.Image == "" {
		set.Image = s.image
	}
	made, err := s.spaces.Create(ctx, set)
	if err != nil {
		return "", err
	}
	s.made = append(s.made, set.Slug)
	return s.spaces.ProjectFolder(made), nil
}

// home returns the home folder of a workspace's agents.
func (s *workspaceBench) home(slug string) string {
	return filepath.Join(s.folder, "workspaces", slug, "home")
}

func (s *workspaceBench) close() {
	ctx := context.Background()
	var errs []error
	for _, slug := range s.made {
		_, err := s.spaces.Delete(ctx, slug, nil)
		errs = append(errs, err)
	}
	for _, name := range s.images {
		errs = append(errs, s.engine.removeImage(ctx, name))
	}
	if s.spaces != nil {
		errs = append(errs, s.spaces.Close())
	}
	if s.store != nil {
		closeStore(s.store)
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, "bench: left behind:", err)
	}
}

// ensure requests a container and releases it.
func (s *workspaceBench) ensure(ctx context.Context, slug string) (id string, took time.Duration, err error) {
	began := time.Now()
	c, err := s.spaces.Ensure(ctx, slug)
	if err != nil {
		return "", 0, err
	}
	took = time.Since(began)
	return c.ID, took, c.Close()
}

// reach measures the ways to a running container.
func (s *workspaceBench) reach(ctx context.Context) error {
	const slug = "ways"
	if _, err := s.create(ctx, workspace.Settings{Slug: slug}); err != nil {
		return err
	}
	var absent, stopped, running, bare []time.Duration
	rounds := s.rounds(5, 2)
	for range rounds {
		id, took, err := s.ensure(ctx, slug)
		if err != nil {
			return err
		}
		absent = append(absent, took)
		if err := s.spaces.Stop(ctx, slug); err != nil {
			return err
		}
		if _, took, err = s.ensure(ctx, slug); err != nil {
			return err
		}
		stopped = append(stopped, took)
		for range s.rounds(60, 20) {
			began := time.Now()
			if err := s.engine.call(ctx, "GET", "/containers/"+id+"/json", nil, nil); err != nil {
				return err
			}
			bare = append(bare, time.Since(began))
			if _, took, err = s.ensure(ctx, slug); err != nil {
				return err
			}
			running = append(running, took)
		}
		if len(absent) == rounds {
			if err := s.addIdle(ctx, id); err != nil {
				return err
			}
		}
		if err := s.engine.remove(ctx, id); err != nil {
			return err
		}
	}
	s.add("ensure of a running container", spread(running), "one docker inspect "+spread(bare), ratio(median(running), median(bare)),
		goal("p50 ≤ 20 ms", median(running) <= 20*time.Millisecond))
	s.add("ensure, absent → answering", micros(median(absent)), "", "", "")
	s.add("ensure, stopped → answering", micros(median(stopped)), "", "", "")
	return nil
}

func (s *workspaceBench) addIdle(ctx context.Context, id string) error {
	i, err := s.engine.idle(ctx, id)
	if err != nil {
		return err
	}
	s.add("an idle container", fmt.Sprintf("%.1f MiB, %d processes, %d threads", float64(i.bytes)/(1<<20), i.processes, i.threads), "", "", "")
	return nil
}

// program copies a program of this module into a workspace's project.
func (s *workspaceBench) program(ctx context.Context, pkg, name, project string) error {
	exe, err := s.build(ctx, pkg, name)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		return err
	}
	file := filepath.Join(project, name)
	return errors.Join(os.WriteFile(file, data, 0o755), os.Chmod(file, 0o755)) //nolint:gosec // it is run by another user
}

// padded returns a text of about n tokens, different for each number.
func padded(n, number int) string {
	var b strings.Builder
	for i := 0; b.Len() < n*bytesPerToken; i++ {
		fmt.Fprintf(&b, "w%d-%d ", number, i)
	}
	return strings.TrimSpace(b.String())
}

// bytesPerToken is the number of bytes per token that all token counts here assume.
const bytesPerToken = 4

func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

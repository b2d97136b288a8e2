package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// The time limits for a supervisor's first answer.
const (
	startTime = 10 * time.Second
	// After this time, the supervisor is also tried through a second process in the container, in
	// addition to the socket.
	bridgeTime = 2 * time.Second
)

// Ensure returns the container of a workspace, running and with a supervisor that answers. It creates or starts
// the container if necessary. A container with outdated settings is recreated if it is idle; otherwise
// [Container.Outdated] says why it should be. Errors: [ErrNoEngine], [ErrNotFound], [ErrNoImage], [ErrForeign],
// [ErrNoAnswer], [ErrWrongUser], [ErrInvalid] for folders that no longer exist.
//
// If several callers run at the same time, in one process or in many, only one of them creates the
// container.
func (w *Workspaces) Ensure(ctx context.Context, slug string) (*Container, error) {
	h, err := w.lock(ctx, "start", slug)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	s, err := w.ready(ctx, h, slug)
	if err != nil {
		return nil, err
	}
	e, info, err := w.findEngine(ctx)
	if err != nil {
		return nil, err
	}
	img, err := w.image(ctx, e, s)
	if err != nil {
		return nil, err
	}
	d := w.dirs(s)
	c := &Container{
		Slug: slug, Name: w.containerName(slug), Settings: *s,
		w: w, engine: e, run: d.Run,
	}
	if c.use, err = openPlain(h.dir, useName); err != nil {
		return nil, c.fail(err)
	}
	if c.release, err = w.openProxy(ctx, h.dir, s); err != nil {
		return nil, errors.Join(err, c.use.Close())
	}
	spec := w.spec(s, hostFolders{home: d.Home, run: d.Run, project: d.Project}, img.ID, info)
	err = c.ensure(ctx, tmpfsVolumes(spec, s, img.Volumes))
	if err == nil {
		if err = shareContainer(c.use); err != nil {
			err = c.fail(err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// ready reads the settings of a locked workspace and checks its folders.
func (w *Workspaces) ready(ctx context.Context, h *workspaceLock, slug string) (*Settings, error) {
	s, err := w.Get(ctx, slug)
	if err != nil {
		return nil, err
	}
	if p := w.checkPaths(s, nil); p != nil { // an engine follows links
		return nil, p.error(slug)
	}
	if err := repairFolders(ctx, h.dir); err != nil {
		return nil, &Error{Op: "start", Slug: slug, Err: err}
	}
	return s, w.checkFolders(h, s)
}

// image finds the image that a workspace uses.
func (w *Workspaces) image(ctx context.Context, e *engine.Engine, s *Settings) (engine.Image, error) {
	ref := s.Image
	if ref == "" {
		ref = DefaultImage
	}
	img, err := e.Image(ctx, ref)
	if err != nil {
		return img, &Error{Op: "start", Slug: s.Slug, Err: err, Advice: hintOf(err)}
	}
	return img, nil
}

func hintOf(err error) string {
	if f, ok := errors.AsType[*engine.Error](err); ok {
		return f.Hint()
	}
	return ""
}

// ensure makes the container run and match spec. The caller holds the workspace's lock.
func (c *Container) ensure(ctx context.Context, spec engine.Spec) error {
	found, err := c.w.workspaceContainer(ctx, c.engine, c.Slug)
	if err != nil {
		return err
	}
	do, outdated := plan(found, spec.Labels)
	if found != nil {
		c.ID, c.first = found.ID, found.PID
	}
	switch do {
	case stepUnpause:
		if err := c.engine.Unpause(ctx, c.ID); err != nil {
			return c.fail(err)
		}
		fallthrough
	case stepReuse:
		return c.reuse(ctx, spec, outdated)
	case stepStart:
		err := c.start(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrNoEngine) {
			return err
		}
		c.w.opt.Log.Warn("container recreated", "workspace", c.Slug, "reason", err)
	case stepReplace:
		c.w.opt.Log.Info("container recreated", "workspace", c.Slug, "state", found.State)
	}
	return c.replace(ctx, spec)
}

// reuse returns a running container, unless it is outdated and idle.
func (c *Container) reuse(ctx context.Context, spec engine.Spec, outdated string) error {
	free, err := lockExclusive(c.use)
	if err != nil {
		return c.fail(err)
	}
	// A supervisor of an old version does not report its health. Nothing can run in such a
	// container.
	c.Health, err = c.await(ctx)
	switch {
	case errors.Is(err, supervisor.ErrProtocol) && free:
		return c.replace(ctx, spec)
	case errors.Is(err, ErrNoAnswer) && free:
		c.w.opt.Log.Warn("container recreated", "workspace", c.Slug, "reason", err)
		return c.replace(ctx, spec)
	case err != nil:
		return err
	}
	if outdated == "" && c.Health.OOMKills > 0 {
		outdated = "it ran out of memory"
	}
	if outdated != "" && free && c.Health.Processes == 0 {
		c.w.opt.Log.Info("container recreated", "workspace", c.Slug, "reason", outdated)
		return c.replace(ctx, spec)
	}
	c.Outdated = outdated
	return nil
}

// replace creates the container and removes an existing one first.
func (c *Container) replace(ctx context.Context, spec engine.Spec) error {
	if c.ID != "" {
		if err := c.engine.Remove(ctx, c.ID); err != nil {
			return c.fail(err)
		}
	}
	id, err := c.engine.Create(ctx, spec)
	if errors.Is(err, engine.ErrConflict) {
		err = &Error{Op: "start", Slug: c.Slug, Err: ErrForeign, Detail: err.Error(), Advice: "see docker inspect " + spec.Name}
	}
	if err != nil {
		return c.fail(err)
	}
	c.ID = id
	if err := c.start(ctx); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return errors.Join(err, c.engine.Remove(ctx, id))
	}
	return nil
}

// start starts a container and waits for its supervisor. It checks the mounts immediately before
// the start, because an engine follows links.
func (c *Container) start(ctx context.Context) (err error) {
	if err := c.w.checkUsable(ctx, &c.Settings); err != nil {
		return err
	}
	if err := c.engine.Start(ctx, c.ID); err != nil {
		return c.fail(err)
	}
	now, err := c.engine.Inspect(ctx, c.ID)
	if err != nil {
		return c.fail(err)
	}
	c.first = now.PID
	c.Health, err = c.await(ctx)
	return err
}

// await waits for the supervisor's answer. If there is no answer it returns [ErrNoAnswer] with the
// end of the container's log.
func (c *Container) await(ctx context.Context) (supervisor.Health, error) {
	began, bridged := time.Now(), c.w.bridged()
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		h, err := c.ask(ctx, bridged)
		if err == nil {
			return h, nil
		}
		if ctx.Err() != nil || errors.Is(err, ErrNoEngine) || errors.Is(err, supervisor.ErrProtocol) {
			return h, c.fail(err)
		}
		if !bridged && time.Since(began) > bridgeTime {
			if h, err := c.ask(ctx, true); err == nil {
				c.w.setBridged()
				return h, nil
			}
		}
		state, looked := c.engine.Inspect(ctx, c.ID)
		if looked != nil {
			return h, c.fail(looked)
		}
		if state.State != engine.Running || time.Since(began) > startTime {
			return h, c.notResponding(ctx, state, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// notResponding returns an error that says why a supervisor does not answer, as far as the state of
// its container shows it.
func (c *Container) notResponding(ctx context.Context, state engine.Container, err error) error {
	out := &Error{Op: "start", Slug: c.Slug, Err: ErrNoAnswer, Advice: "holdfast workspace image build makes an image that has " + Program}
	if state.State == engine.Running {
		out.Detail = err.Error()
		out.Advice = "holdfast workspace stop " + c.Slug
	} else {
		out.Detail = fmt.Sprintf("the container ended with exit code %d", state.ExitCode)
	}
	if text, err := c.engine.Logs(ctx, c.ID, 5); err == nil && text != "" {
		out.Detail += ": " + logEnd(text)
	}
	return out
}

// logEnd returns the end of a log as one line. The log may contain any text.
func logEnd(text string) string {
	const most = 500
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return strings.Join(strings.Fields(text), " ")
}

// fail adds the workspace's name to an error.
func (c *Container) fail(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Op: "start", Slug: c.Slug, Err: err, Advice: hintOf(err)}
}

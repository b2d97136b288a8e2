package workspace

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
)

// egressLock is the name of a lock file. The process that holds the lock serves the container's
// network access. Other processes that use the container wait for the lock. When the holder ends,
// one of them gets it.
const egressLock = "egress.lock"

// lockRetryInterval is the interval at which the waiting processes try to get the lock.
const lockRetryInterval = 100 * time.Millisecond

// egressProxies has the egress proxies of the containers that this process uses, keyed by the id of
// the workspace and the folder of the sockets.
type egressProxies struct {
	mu   sync.Mutex
	open map[string]*proxy
}

// proxy listens in a container's socket folder, or waits until it gets the lock.
type proxy struct {
	users int
	stop  context.CancelFunc
	done  chan struct{}
}

// openProxy makes sure that a proxy listens for the container with the socket folder dir, until the
// proxy is released. It does nothing if the settings allow no network.
func (w *Workspaces) openProxy(ctx context.Context, dir *os.Root, s *Settings) (release func(), err error) {
	if s.Network.Mode != NetworkProxy {
		return func() {}, nil
	}
	p := &w.containers.proxies
	p.mu.Lock()
	defer p.mu.Unlock()
	key := s.ID + dir.Name() // an earlier workspace may have had a folder with this name
	one := p.open[key]
	if one == nil {
		if one, err = w.startProxy(ctx, dir, s); err != nil {
			return nil, &Error{Op: "open the network of", Slug: s.Slug, Err: err}
		}
		if p.open == nil {
			p.open = map[string]*proxy{}
		}
		p.open[key] = one
	}
	one.users++
	return sync.OnceFunc(func() { p.release(key, one) }), nil
}

func (p *egressProxies) release(key string, one *proxy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one.users--; one.users > 0 {
		return
	}
	delete(p.open, key)
	one.stop()
	<-one.done
}

// startProxy listens, or starts to wait for the lock.
func (w *Workspaces) startProxy(ctx context.Context, dir *os.Root, s *Settings) (*proxy, error) {
	rules, err := egress.Compile(egress.Layer{Allow: s.Network.Domains})
	if err != nil {
		return nil, err
	}
	server, err := egress.New(rules, &egress.Options{Log: w.opt.Log})
	if err != nil {
		return nil, err
	}
	lock, err := openPlain(dir, egressLock)
	if err != nil {
		return nil, err
	}
	run, err := openFolder(dir, runName)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	o := &egressSocket{w: w, slug: s.Slug, server: server, lock: lock, run: run}
	if _, err := o.listen(); err != nil {
		o.close()
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &proxy{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer o.close()
		o.serve(ctx)
	}()
	return p, nil
}

// egressSocket is the socket on which a proxy listens.
type egressSocket struct {
	w      *Workspaces
	slug   string
	server *egress.Proxy
	lock   *os.File
	run    *os.Root
	l      listener
}

func (o *egressSocket) close() {
	if o.l != nil {
		_ = o.l.Close()
	}
	_ = o.run.Close()
	_ = o.lock.Close()
}

// listen starts to listen if no other process holds the lock. It reports whether it listens.
func (o *egressSocket) listen() (bool, error) {
	free, err := diskfile.TryLock(o.lock)
	if err != nil || !free {
		return false, err
	}
	o.l, err = listenIn(o.run, supervisor.EgressName)
	return err == nil, err
}

// serve waits for the lock, and then serves until the context ends.
func (o *egressSocket) serve(ctx context.Context) {
	for o.l == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lockRetryInterval):
		}
		if _, err := o.listen(); err != nil {
			o.w.opt.Log.Warn("the container has no network access", "workspace", o.slug, "error", err)
		}
	}
	if err := o.server.Serve(ctx, o.l, &egress.Session{ID: "workspace " + o.slug}); err != nil && ctx.Err() == nil {
		o.w.opt.Log.Warn("the container has no network access", "workspace", o.slug, "error", err)
	}
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Time limits of calls, in addition to the limit of their context.
const (
	shortTimeout = 10 * time.Second // calls that only read
	longTimeout  = time.Minute      // calls that create, start or remove
	dialTime     = 3 * time.Second  // connecting to a socket
)

// Engine is a connection to a container engine that answered.
type Engine struct {
	api  *client
	host string
}

// Host returns the engine's address: "unix:///var/run/docker.sock".
func (e *Engine) Host() string { return e.host }

// Close closes idle connections. Open streams stay open.
func (e *Engine) Close() error {
	e.api.transport.CloseIdleConnections()
	return nil
}

// Connect finds an engine and asks for its version. If the argument, DOCKER_HOST, DOCKER_CONTEXT or
// Docker's settings name a host, only that host is tried. Otherwise the usual sockets are tried.
// Docker's sockets are tried before Podman's. The error is an [*Error] that wraps [ErrNoEngine] and
// has a hint.
func Connect(ctx context.Context, host string) (*Engine, error) {
	if host == "" {
		named, err := namedHost(os.Getenv)
		if err != nil {
			return nil, err
		}
		host = named
	}
	if host != "" {
		return open(ctx, host)
	}
	var tried []error
	for _, h := range usualHosts(runtime.GOOS, os.Getenv, os.Getuid()) {
		if path, ok := strings.CutPrefix(h, "unix://"); ok {
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		e, err := open(ctx, h)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		tried = append(tried, err)
	}
	if len(tried) == 1 {
		return nil, tried[0]
	}
	if len(tried) > 1 {
		return nil, &Error{Op: "find a container engine", Err: ErrNoEngine, Detail: details(tried), Advice: startAdvice(runtime.GOOS)}
	}
	return nil, &Error{Op: "find a container engine", Err: ErrNoEngine, Detail: "found no socket of Docker or Podman", Advice: installAdvice(runtime.GOOS)}
}

// open connects to one address.
func open(ctx context.Context, host string) (*Engine, error) {
	scheme, rest, ok := strings.Cut(host, "://")
	switch {
	case !ok || rest == "":
		return nil, &Error{Op: "connect to " + host, Err: ErrNoEngine, Detail: "it is not an address", Advice: "use unix:///PATH, npipe:////./pipe/NAME or tcp://HOST:PORT"}
	case scheme == "ssh":
		return nil, &Error{
			Op: "connect to " + host, Err: ErrNoEngine, Detail: "a workspace's folders are on this machine, and an engine on another machine cannot mount them",
			Advice: "unset DOCKER_HOST and DOCKER_CONTEXT, or set them to an engine on this machine",
		}
	case scheme != "unix" && scheme != "tcp" && scheme != "npipe":
		return nil, &Error{Op: "connect to " + host, Err: ErrNoEngine, Detail: "only unix, npipe and tcp addresses are supported", Advice: "set DOCKER_HOST to unix:///PATH"}
	}
	api, err := newClient(scheme, rest, os.Getenv)
	if err != nil {
		return nil, &Error{Op: "connect to " + host, Err: ErrNoEngine, Detail: err.Error()}
	}
	e := &Engine{api: api, host: host}
	if err := e.negotiate(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// negotiate negotiates the API version.
func (e *Engine) negotiate(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	system, err := e.api.ping(limited)
	if err != nil {
		if ctx.Err() != nil {
			return &Error{Op: "connect to " + e.host, Err: ctx.Err()}
		}
		return noEngine(e.host, err)
	}
	if v := e.api.api; older(v, minAPI) {
		return &Error{
			Op: "connect to " + e.host, Err: ErrNoEngine, Detail: fmt.Sprintf("its API version is %s, at least %s is required", v, minAPI),
			Advice: "install Docker 20.10 or later",
		}
	}
	if system != "" && system != "linux" {
		return &Error{
			Op: "connect to " + e.host, Err: ErrNoEngine, Detail: "it runs " + system + " containers, not Linux containers",
			Advice: "switch Docker Desktop to Linux containers",
		}
	}
	return nil
}

// noEngine returns the error for an engine that does not answer, with a hint.
func noEngine(host string, err error) error {
	out := &Error{Op: "connect to " + host, Err: ErrNoEngine, Detail: reason(err), Advice: startAdvice(runtime.GOOS)}
	if errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "permission denied") {
		out.Detail = "permission denied"
		out.Advice = "give this user access: sudo usermod -aG docker $USER, then log in again"
	}
	return out
}

// reason shortens the reason for a failed connection.
func reason(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "refused it"), strings.Contains(text, "connection refused"), errors.Is(err, context.DeadlineExceeded):
		return "nothing listens there"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or directory"
	}
	for _, why := range []string{"connection reset", "no such host"} {
		if strings.Contains(text, why) {
			return why
		}
	}
	return text
}

func details(list []error) string {
	var all []string
	for _, err := range list {
		all = append(all, strings.Replace(err.Error(), ErrNoEngine.Error()+": ", "", 1))
	}
	return strings.Join(all, "; ")
}

// usualHosts lists the addresses at which engines usually listen, for a given operating system and
// user.
func usualHosts(system string, env func(string) string, uid int) []string {
	home, runtimeDir := env("HOME"), env("XDG_RUNTIME_DIR")
	if system == "windows" {
		return []string{"npipe:////./pipe/docker_engine", "npipe:////./pipe/podman-machine-default"}
	}
	if runtimeDir == "" && system == "linux" {
		runtimeDir = "/run/user/" + strconv.Itoa(uid)
	}
	var paths []string
	add := func(folder string, below ...string) {
		if filepath.IsAbs(folder) {
			paths = append(paths, filepath.Join(append([]string{folder}, below...)...))
		}
	}
	add("/var/run/docker.sock")
	add(runtimeDir, "docker.sock") // rootless
	add(home, ".docker/run/docker.sock")
	add(home, ".docker/desktop/docker.sock")
	add(home, ".orbstack/run/docker.sock")
	add(home, ".colima/default/docker.sock")
	add(home, ".colima/docker.sock")
	add(home, ".rd/docker.sock") // Rancher Desktop
	add(runtimeDir, "podman/podman.sock")
	if uid == 0 || system != "linux" {
		add("/run/podman/podman.sock")
	}
	add(home, ".local/share/containers/podman/machine/podman.sock")
	add(home, ".local/share/containers/podman/machine/qemu/podman.sock")
	hosts := make([]string, len(paths))
	for i, p := range paths {
		hosts[i] = "unix://" + p
	}
	return hosts
}

// Sockets returns the paths on which engines of this machine may listen. A process that can connect
// to one of them has full control of the machine.
func Sockets() []string {
	hosts := usualHosts(runtime.GOOS, os.Getenv, os.Getuid())
	if named, err := namedHost(os.Getenv); err == nil {
		hosts = append(hosts, named)
	}
	var list []string
	for _, h := range hosts {
		if path, ok := strings.CutPrefix(h, "unix://"); ok {
			list = append(list, path)
		}
	}
	return list
}

func installAdvice(system string) string {
	switch system {
	case "darwin":
		return "install Docker Desktop, OrbStack or Colima (brew install colima docker; colima start)"
	case "windows":
		return "install Docker Desktop"
	}
	return "install Docker: apt-get install docker.io"
}

func startAdvice(system string) string {
	switch system {
	case "darwin":
		return "start Docker Desktop, OrbStack or Colima (colima start), then check with docker version"
	case "windows":
		return "start Docker Desktop, then check with docker version"
	}
	return "start it: sudo systemctl start docker"
}

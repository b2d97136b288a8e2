package supervisor

import (
	"io"
	"path"
)

// ServeOptions configures a supervisor in a container. If a field is empty, the package's constant
// is its default.
type ServeOptions struct {
	Socket string // path of the socket to listen on; the processes cannot write to its folder
	Egress string // the socket of the host's proxy, which need not exist
	Proxy  string // localhost address to listen on for the proxy; "-" disables it
	Home   string // HOME of the processes; default: HOME of this process, or /home/agent if that is not set
	Path   string // PATH of the processes; default: PATH of this process, or the usual one if that is not set
	Log    io.Writer

	// anyPeer accepts processes of the same pid namespace, for tests.
	anyPeer bool
	// noLandlock behaves as a kernel without Landlock, for tests.
	noLandlock bool
}

func (o ServeOptions) withDefaults(getenv func(string) string) ServeOptions {
	fill := func(s *string, values ...string) {
		for _, v := range values {
			if *s == "" {
				*s = v
			}
		}
	}
	fill(&o.Socket, Socket)
	fill(&o.Egress, path.Join(path.Dir(o.Socket), EgressName))
	fill(&o.Proxy, Proxy)
	fill(&o.Home, getenv("HOME"), "/home/agent")
	fill(&o.Path, getenv("PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	if o.Home == "/" { // the engine sets this if the image has no user with that number
		o.Home = "/home/agent"
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// environ returns the environment of every process, before its spec's variables.
func (o *ServeOptions) environ(terminal, proxy bool) []string {
	term := "dumb"
	if terminal {
		term = "xterm-256color"
	}
	env := []string{"PATH=" + o.Path, "HOME=" + o.Home, "USER=agent", "LOGNAME=agent", "LANG=C.UTF-8", "TERM=" + term}
	if !proxy {
		return env
	}
	web := "http://" + o.Proxy
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "npm_config_proxy", "npm_config_https_proxy"} {
		env = append(env, name+"="+web)
	}
	const local = "localhost,127.0.0.1,::1"
	return append(env, "ALL_PROXY=socks5h://"+o.Proxy, "all_proxy=socks5h://"+o.Proxy, "NO_PROXY="+local, "no_proxy="+local, "NODE_USE_ENV_PROXY=1")
}

// AttachOptions configures [Attach].
type AttachOptions struct {
	Socket string // default: the package's
	Stdin  io.Reader
	Stdout io.Writer
}

package supervisor

import (
	"io"
	"path"
)

// ServeOptions says what a supervisor does inside a container. Empty fields are the
// package's constants.
type ServeOptions struct {
	Socket string // where to listen; its folder is closed to the processes
	Egress string // the socket of the host's proxy, which need not be there
	Proxy  string // where to listen for the proxy, an address of localhost; "-" does not
	Home   string // HOME of the processes; "" is our own, or else /home/agent
	Path   string // PATH of the processes; "" is our own, or else the usual one
	Log    io.Writer

	// anyPeer serves processes of our own pid namespace, for tests.
	anyPeer bool
	// noLandlock is as on a kernel without it, for tests.
	noLandlock bool
}

func (o ServeOptions) filled(getenv func(string) string) ServeOptions {
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
	if o.Home == "/" { // what engines say when the image knows no user of that number
		o.Home = "/home/agent"
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// environ is what every process knows, besides what its spec says.
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

// AttachOptions says what [Attach] connects.
type AttachOptions struct {
	Socket string // "" is the package's
	Stdin  io.Reader
	Stdout io.Writer
}

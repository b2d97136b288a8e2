package sandbox

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/internal/environ"
	"github.com/holdfast-dev/holdfast/internal/registries"
	"github.com/holdfast-dev/holdfast/internal/sandbox/caches"
	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
)

// Environ filters an environment for commands of this sandbox. It keeps the variables for the
// location of programs, tools and the home folder, the user, the language, the terminal, the time
// zone and the registries of tools. It removes all others, including keys and tokens. It adds
// TMPDIR, HOLDFAST_SANDBOX, the variables by which tools find their caches and, if commands reach
// the network through the proxy, those by which programs find the proxy.
func (s *Sandbox) Environ(all []string) []string {
	return s.withSandboxVariables(environ.ForSandbox(all))
}

// Enter prepares an environment for use inside the sandbox: it returns the whole environment with the
// changes of [Sandbox.Environ].
func (s *Sandbox) Enter(all []string) []string { return s.withSandboxVariables(slices.Clone(all)) }

func (s *Sandbox) withSandboxVariables(env []string) []string {
	set := []string{"TMPDIR=" + s.temp(), "HOLDFAST_SANDBOX=1"}
	if s.network() == kernel.ProxyNetwork {
		set = append(set, proxyEnviron(kernel.ProxyAddr, localNames(s.merged().Hosts))...)
	}
	env = overrideEnv(env, set)
	at := s.caches()
	if tools := s.toolsOf(at); at != "" {
		env = overrideEnv(env, tools.Environ(env, s.network() == kernel.ProxyNetwork))
	}
	if s.npm != "" && !slices.ContainsFunc(env, func(entry string) bool { return strings.EqualFold(variableName(entry), npmRegistry) }) {
		env = append(env, npmRegistry+"="+s.npm)
	}
	for _, set := range s.toolVariables {
		if !slices.ContainsFunc(env, func(entry string) bool { return strings.EqualFold(variableName(entry), variableName(set)) }) {
			env = append(env, set)
		}
	}
	return env
}

// npmRegistry tells npm which registry to use. The registry is set in ~/.npmrc, which commands cannot
// read.
const npmRegistry = "npm_config_registry"

// toolsOf finds, once, the settings that tools need in the environment of commands.
func (s *Sandbox) toolsOf(at string) *caches.Tools {
	s.toolsOnce.Do(func() {
		p := caches.Project{Dir: s.dir(), User: s.compiler.home, MayWrite: s.canWrite, Mapped: s.showsCacheFor}
		s.tools = p.Open(at)
		if home := s.compiler.home; s.dir() == home || registries.NPM(s.dir()) == "" { // if the variable were set, it would override the project's file
			s.npm = registries.NPM(home)
		}
		s.toolVariables = s.copyToolConfig(at)
	})
	return s.tools
}

// proxyCount counts the addresses used for the proxies of commands.
var proxyCount atomic.Uint32

// ownProxy returns the address at which a command finds its proxy, and an environment with that
// address. Commands may share a localhost, but each has a separate listener on it.
func (s *Sandbox) ownProxy(env []string) (netip.Addr, []string) {
	if s.network() != kernel.ProxyNetwork || !slices.Contains(env, "HTTP_PROXY=http://"+kernel.ProxyAddr) {
		return netip.Addr{}, env
	}
	n := proxyCount.Add(1)
	addr := netip.AddrFrom4([4]byte{127, 83, byte(n >> 8), byte(n)})
	host, port, _ := strings.Cut(kernel.ProxyAddr, ":")
	replacer := strings.NewReplacer(kernel.ProxyAddr, addr.String()+":"+port, "proxyHost="+host+" ", "proxyHost="+addr.String()+" ")
	env, names := slices.Clone(env), proxyNames()
	for i := range env {
		if names[variableName(env[i])] { // the value may contain more than the proxy's address
			env[i] = replacer.Replace(env[i])
		}
	}
	return addr, env
}

// proxyNames are the variables that tell programs about the proxy.
var proxyNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, entry := range proxyEnviron(kernel.ProxyAddr, nil) {
		names[variableName(entry)] = true
	}
	return names
})

// overrideEnv returns an environment with some values replaced.
func overrideEnv(env, set []string) []string {
	names := map[string]bool{}
	for _, entry := range set {
		names[variableName(entry)] = true
	}
	return append(slices.DeleteFunc(env, func(entry string) bool { return names[variableName(entry)] }), set...)
}

func variableName(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	return name
}

// localNames returns the names of this machine that lead to the command's private network and bypass
// the proxy. If every layer lists such a name, it means the host, which a command reaches only
// through the proxy.
func localNames(layers []egress.Layer) []string {
	return slices.DeleteFunc([]string{"localhost", "127.0.0.1", "::1"}, func(name string) bool {
		return len(layers) > 0 && !slices.ContainsFunc(layers, func(l egress.Layer) bool {
			return !slices.ContainsFunc(l.Allow, func(entry string) bool {
				return !strings.HasPrefix(entry, "*") && egress.Match(entry, name, 0)
			})
		})
	})
}

// proxyEnviron returns the variables that tell programs about the proxy and the names that bypass it.
// If a program's own settings would override HTTP_PROXY, its settings are set as well: git, npm,
// cargo, and Maven and Gradle through their option variables, since Java reads no proxy variable.
// JAVA_TOOL_OPTIONS would reach every Java program but is not set, because each of them prints it. Git
// over ssh does not work: it would need a helper program and keys, which commands do not have.
func proxyEnviron(addr string, own []string) []string {
	host, port, _ := strings.Cut(addr, ":")
	local := strings.Join(own, ",")
	web, socks := "http://"+addr, "socks5h://"+addr
	java := "-Dhttp.proxyHost=" + host + " -Dhttp.proxyPort=" + port + " -Dhttps.proxyHost=" + host + " -Dhttps.proxyPort=" + port + " -Dhttp.nonProxyHosts="
	direct := strings.NewReplacer("127.0.0.1", "127.*", "::1", "[::1]").Replace(strings.Join(own, "|"))
	return []string{
		"HTTP_PROXY=" + web, "http_proxy=" + web, "HTTPS_PROXY=" + web, "https_proxy=" + web,
		"ALL_PROXY=" + socks, "all_proxy=" + socks, "NO_PROXY=" + local, "no_proxy=" + local,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.proxy", "GIT_CONFIG_VALUE_0=" + web,
		"npm_config_proxy=" + web, "npm_config_https_proxy=" + web, "npm_config_noproxy=" + local,
		"YARN_HTTP_PROXY=" + web, "YARN_HTTPS_PROXY=" + web,
		"NODE_USE_ENV_PROXY=1", "CARGO_HTTP_PROXY=" + web, "PIP_PROXY=" + web,
		"MAVEN_OPTS=" + java + direct, "GRADLE_OPTS=" + java + "'" + direct + "'", // a shell parses Gradle's
	}
}

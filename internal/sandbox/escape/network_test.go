//go:build linux

package escape

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// networks try to reach other programs.
var networks = []attempt{
	{id: "N02", what: "connect to the host's localhost by IPv6", try: func(p *outside) error { return say("tcp", join("::1", p.Port6), "hi") }},
	{id: "N03", what: "connect to 0.0.0.0", try: func(p *outside) error { return say("tcp", join("0.0.0.0", p.Port), "hi") }},
	{id: "N04", what: "connect to the host's own address", absent: noAddress, try: func(p *outside) error { return say("tcp", join(p.Address, p.PortAddress), "hi") }},
	{id: "N05", what: "send a datagram to the host's localhost", private: true, try: func(p *outside) error { return say("udp", join("127.0.0.1", p.UDP), "hi") }},
	{id: "N06", what: "send a datagram away", inner: true, absent: noAddress, try: func(*outside) error { return say("udp", "192.0.2.1:53", "x") }},
	{id: "N08", what: "have a way to the address of cloud metadata", inner: true, absent: noAddress, try: func(*outside) error { return routed([4]byte{169, 254, 169, 254}) }},
	{id: "N11", what: "make a raw socket", root: true, inner: true, try: sockets(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
	{id: "N13", what: "make a socket of packets", root: true, inner: true, try: sockets(unix.AF_PACKET, unix.SOCK_RAW, 0)},
	{id: "N14", what: "ask the kernel for the host's addresses", inner: true, absent: noAddress, try: func(p *outside) error {
		addrs, err := net.InterfaceAddrs()
		for _, a := range addrs {
			if strings.HasPrefix(a.String(), p.Address+"/") {
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("not among %v", addrs))
	}},
	{id: "N17", what: "connect with MPTCP", absent: noMPTCP, try: func(p *outside) error { return connect(unix.AF_INET, unix.SOCK_STREAM, 262, p.Port) }},
	{
		id: "N20", what: "listen where the host can connect", private: true, during: connectsInside, try: func(p *outside) error {
			l, err := net.Listen("tcp", join("0.0.0.0", p.Free))
			if err != nil {
				return err
			}
			defer l.Close()
			return p.ready()
		},
	},
	{id: "N41", what: "use the proxy of another sandbox", during: proxiedSandbox, try: func(p *outside) error {
		if err := p.ready(); err != nil {
			return err
		}
		return throughProxy(p)
	}},
	{id: "N42", what: "reach a host where the list of domains is empty", try: throughProxy, settings: func(f *fixture) *sandbox.Settings {
		return &sandbox.Settings{DeniedPaths: []string{f.Secret}, Network: &sandbox.Network{AllowedDomains: []string{}}}
	}},
	{id: "R18", what: "connect to a unix socket outside", try: func(p *outside) error { return say("unix", p.SockOut, "hi") }},
	{id: "R19", what: "connect to a host's unix socket in the workspace", try: func(p *outside) error { return say("unix", p.SockWS, "hi") }},
	{id: "R21", what: "send to an abstract socket", try: func(p *outside) error { return say("unixgram", "@"+p.AbstractDgram, "hi") }},

	{id: "E01", what: "connect to the host's localhost", try: func(p *outside) error { return say("tcp", join("127.0.0.1", p.Port), "hi") }},
	{id: "E02", what: "connect to an abstract socket", try: func(p *outside) error { return say("unix", "@"+p.Abstract, "hi") }},
	{id: "E03", what: "send to a unix socket outside", try: func(p *outside) error { return say("unixgram", p.Out+"/dgram", "hi") }},
	{id: "E04", what: "connect to a unix socket through a link", script: `ln -s "$OUT/sock" "$WS/s"; exec "$BIN" probe E04x "$BASE"`},
	{id: "E05", what: "connect to a unix socket by /proc/self/fd", try: func(p *outside) error {
		fd, err := unix.Open(p.Out, unix.O_PATH, 0)
		if err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		return say("unix", fmt.Sprintf("/proc/self/fd/%d/sock", fd), "hi")
	}},
	{id: "E06", what: "make a unix socket with upper bits in the family", try: func(p *outside) error {
		fd, err := result(unix.SYS_SOCKET, 1<<32|unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(int(fd), &unix.SockaddrUnix{Name: p.SockOut}); err != nil {
			return err
		}
		_, err = unix.Write(int(fd), []byte("hi"))
		return err
	}},
	{id: "E07", what: "make a socket to other machines on the same host (vsock)", inner: true, absent: noFamily(unix.AF_VSOCK), try: sockets(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
	{id: "E08", what: "make a socket of the kernel's ciphers", inner: true, absent: noFamily(unix.AF_ALG), try: sockets(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
	{id: "E09", what: "make a socket of a family that nobody knows", inner: true, absent: noFamily(unix.AF_VSOCK), try: func(*outside) error {
		for family := range 46 {
			switch family {
			case unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK:
				continue
			}
			for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
				if _, err := unix.Socket(family, kind, 0); err == nil {
					fmt.Println("family", family)
					return nil
				}
			}
		}
		return errors.New("none")
	}},
	{id: "E10", what: "hear of the kernel's devices (uevents)", inner: true, root: true, try: sockets(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT)},
	{id: "E11", what: "speak to the audit of the kernel", inner: true, root: true, absent: noProtocol(unix.NETLINK_AUDIT), try: sockets(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)},
	{id: "E12", what: "connect by sending (TCP fast open)", try: func(p *outside) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte("hi"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: p.Port, Addr: [4]byte{127, 0, 0, 1}})
	}},
	{id: "E13", what: "send to everybody on the network", inner: true, absent: noAddress, try: func(*outside) error { return routed([4]byte{224, 0, 0, 251}) }},
	{id: "E14", what: "ping", inner: true, root: true, try: func(*outside) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}, 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}},
	{
		id: "E15", what: "connect to a service's socket in /run", arrange: serviceInRun, absent: notRoot,
		try: func(p *outside) error { return say("unix", "/run/"+p.Marker, "hi") },
	},
	{
		id: "E23", what: "connect to a service's socket in /run where own unix sockets are allowed", settings: ownSockets, arrange: serviceInRun, absent: notRoot,
		try: func(p *outside) error { return say("unix", "/run/"+p.Marker, "hi") },
	},
	{id: "E16", what: "connect to the host's localhost where the command may listen", private: true, settings: local, try: func(p *outside) error {
		return anyOf(
			func() error { return say("tcp", join("127.0.0.1", p.Port), "hi") },
			func() error { return say("tcp", join("::1", p.Port6), "hi") },
			func() error { return say("udp", join("127.0.0.1", p.UDP), "hi") },
		)
	}},
	{id: "E22", what: "use a localhost that the settings close", settings: noLocal, inner: true, try: func(p *outside) error {
		return anyOf(
			func() error { return say("tcp", join("127.0.0.1", p.Port), "hi") },
			func() error { return say("udp", join("127.0.0.1", p.UDP), "hi") },
			func() error {
				l, err := net.Listen("tcp", join("127.0.0.1", p.Free))
				if err == nil {
					l.Close()
				}
				return err
			},
		)
	}},
	{
		id: "E17", what: "listen where the host can connect, where the command may listen", private: true, settings: local, during: connectsInside,
		try: func(p *outside) error {
			l, err := net.Listen("tcp", join("0.0.0.0", p.Free))
			if err != nil {
				return err
			}
			defer l.Close()
			return p.ready()
		},
	},
	{id: "E18", what: "connect to a socket outside where own unix sockets are allowed", settings: ownSockets, try: func(p *outside) error {
		return anyOf(func() error { return say("unix", p.SockOut, "hi") }, func() error { return say("unixgram", p.Out+"/dgram", "hi") })
	}},
	{id: "E19", what: "connect to an abstract socket where own unix sockets are allowed", settings: ownSockets, try: func(p *outside) error {
		return anyOf(func() error { return say("unix", "@"+p.Abstract, "hi") }, func() error { return say("unixgram", "@"+p.AbstractDgram, "hi") })
	}},
	{id: "E20", what: "be in the host's network", inner: true, try: func(p *outside) error {
		to, err := os.Readlink("/proc/self/ns/net")
		if err == nil && to != p.Net {
			err = errors.New("another one")
		}
		return err
	}},
	{id: "E21", what: "list the host's sockets", inner: true, script: `awk 'FNR>1' /proc/net/tcp /proc/net/unix | grep -q .`},
}

// linked is the second half of an attempt that starts as a script.
var linked = []attempt{{id: "E04x", try: func(p *outside) error { return say("unix", p.WS+"/s", "hi") }}}

func join(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// say connects and sends.
func say(network, address, what string) error {
	c, err := net.DialTimeout(network, address, 3*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte(what))
	return err
}

// connect connects a socket of any kind to a port of localhost, and sends.
func connect(family, kind, protocol, port int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte("hi"))
	return err
}

// routed reports whether there is a route to an address. It sends nothing.
func routed(to [4]byte) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrInet4{Port: 80, Addr: to})
}

func sockets(family, kind, protocol int) func(*outside) error {
	return func(*outside) error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
}

// throughProxy tries to reach a server of the host through the proxy of a sandbox, by the environment's
// variables, and directly.
func throughProxy(p *outside) error {
	target := join("127.0.0.1", p.Port)
	return anyOf(
		func() error { return say("tcp", target, "hi") },
		func() error {
			c, err := net.DialTimeout("tcp", "127.0.0.1:3128", 3*time.Second)
			if err != nil {
				return err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(3 * time.Second))
			_, _ = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
			b := make([]byte, 256)
			n, err := c.Read(b)
			if !strings.Contains(string(b[:n]), " 200 ") {
				return errors.Join(err, fmt.Errorf("the proxy answered %q", b[:n]))
			}
			return nil
		},
	)
}

// connectsInside connects, from the host, to the port on which the probe listens.
func connectsInside(f *fixture, ended <-chan struct{}) {
	if !f.waitsReady(ended) {
		return
	}
	for _, host := range []string{"127.0.0.1", f.Address} {
		if host != "" && say("tcp", join(host, f.Free), "hi") == nil {
			f.addHarm("%s reached what listens inside", host)
		}
	}
	_ = os.WriteFile(f.WS+"/go", nil, 0o666)
}

func local(f *fixture) *sandbox.Settings {
	return &sandbox.Settings{DeniedPaths: []string{f.Secret}, Network: &sandbox.Network{AllowedDomains: []string{}, AllowLocalBinding: new(true)}}
}

func noLocal(f *fixture) *sandbox.Settings {
	return &sandbox.Settings{DeniedPaths: []string{f.Secret}, Network: &sandbox.Network{AllowedDomains: []string{}, AllowLocalBinding: new(false)}}
}

func ownSockets(f *fixture) *sandbox.Settings {
	return &sandbox.Settings{DeniedPaths: []string{f.Secret}, Network: &sandbox.Network{AllowedDomains: []string{}, AllowUnixSockets: true}}
}

// serviceInRun starts a service like a container engine's, with a socket that every user may use.
func serviceInRun(t *testing.T, f *fixture) {
	if isRoot {
		f.services.stream(t, "unix", "/run/"+f.Marker)
		must(t, os.Chmod("/run/"+f.Marker, 0o777))
	}
}

func notRoot() string {
	if !isRoot {
		return "only root can put a service into /run"
	}
	return ""
}

func noAddress() string {
	if ownAddress() == "" {
		return "this machine has no network"
	}
	return ""
}

func noMPTCP() string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 262)
	if err != nil {
		return "this kernel has no MPTCP: " + err.Error()
	}
	_ = unix.Close(fd)
	return ""
}

func noFamily(family int) func() string {
	return func() string {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
			if fd, err := unix.Socket(family, kind, 0); err == nil || errors.Is(err, syscall.EPERM) {
				_ = unix.Close(fd)
				return ""
			}
		}
		return fmt.Sprintf("this kernel has no sockets of family %d", family)
	}
}

func noProtocol(protocol int) func() string {
	return func() string {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, protocol)
		if err != nil {
			return fmt.Sprintf("this kernel has no netlink of protocol %d", protocol)
		}
		_ = unix.Close(fd)
		return ""
	}
}

package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wait"
)

const slots = 16384

// Slot returns the slot of a key: the hash of the part between its first { and the next }, if that
// part is not empty, otherwise the hash of the whole key.
func Slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0) // CRC-16/XMODEM
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

// redirects is the maximum number of times that a command is sent again, to the same or another
// server of a cluster.
const redirects = 3

// sendToOwner sends commands to the owner of the slot. If the slot moves, it sends them to the new
// owner.
func (c *Client) sendToOwner(ctx context.Context, commands []Command) ([]any, error) {
	to := "" // a server that is used only for this attempt
	for try := 0; ; try++ {
		addr, send := to, commands
		if to != "" {
			send = asking(commands)
		} else {
			var err error
			if addr, err = c.findOwner(ctx); err != nil {
				return nil, err
			}
		}
		replies, err := c.sendTo(ctx, addr, send)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, ErrBusy) {
				c.forgetOwner(addr)
			}
			return nil, err
		}
		if to != "" {
			replies = oddReplies(replies)
		}
		e := retryableError(replies)
		if e == "" || try == redirects {
			return replies, nil
		}
		to = ""
		switch moved, ask, next := redirect(e, addr); {
		case moved:
			c.changeOwner(ctx, next)
			continue
		case ask:
			to = next
			continue
		case !e.is("TRYAGAIN"):
			c.forgetOwner(addr)
		}
		if err := wait.For(ctx, 8*time.Millisecond<<(2*try)); err != nil {
			return nil, err
		}
	}
}

// asking puts ASKING before each command. It makes a server execute commands for a slot that the
// server is importing.
func asking(commands []Command) []Command {
	out := make([]Command, 0, 2*len(commands))
	for _, command := range commands {
		out = append(out, Command{"ASKING"}, command)
	}
	return out
}

func oddReplies(replies []any) []any {
	var out []any
	for i := 1; i < len(replies); i += 2 {
		out = append(out, replies[i])
	}
	return out
}

// retryableError returns the first error reply that may not occur on another server, or on the same server
// a little later; "" if there is none.
func retryableError(replies []any) Error {
	for _, r := range replies {
		e, ok := r.(Error)
		if !ok {
			continue
		}
		for _, code := range []string{"MOVED", "ASK", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "LOADING"} {
			if e.is(code) {
				return e
			}
		}
		if strings.Contains(string(e), "-READONLY ") { // from a script on old servers
			return e
		}
	}
	return ""
}

// redirect parses "MOVED 3999 127.0.0.1:6381" and "ASK …". If the host is missing, it is the host
// of the server that sent the reply.
func redirect(e Error, from string) (moved, ask bool, addr string) {
	words := strings.Fields(string(e))
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return false, false, ""
	}
	at := strings.LastIndexByte(words[2], ':')
	if at < 0 {
		return false, false, ""
	}
	port, err := strconv.Atoi(words[2][at+1:])
	if err != nil || port < 1 || port > 65535 {
		return false, false, ""
	}
	host := strings.Trim(words[2][:at], "[]")
	if host == "" || host == "?" {
		host = hostOf(from)
	}
	return words[0] == "MOVED", words[0] == "ASK", net.JoinHostPort(host, strconv.Itoa(port))
}

func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil { // a socket of this machine
		return "127.0.0.1"
	}
	return host
}

// findOwner returns the address of the server that owns the slot.
func (c *Client) findOwner(ctx context.Context) (string, error) {
	c.mu.Lock()
	owner, places := c.owner, c.candidates()
	c.mu.Unlock()
	if owner != "" {
		return owner, nil
	}
	var first error
	for _, addr := range places {
		owner, known, err := c.requestSlots(ctx, addr)
		if err == nil {
			c.setOwner(owner, known)
			return owner, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return "", first
}

// candidates returns the servers that can be asked for the owner of the slot, in order. The caller
// holds the lock.
func (c *Client) candidates() []string {
	out := slices.Clone(c.known)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if !slices.Contains(out, c.opt.Addr) {
		out = append(out, c.opt.Addr)
	}
	if at := slices.Index(out, c.lost); at >= 0 {
		out = append(slices.Delete(out, at, at+1), c.lost)
	}
	return out
}

// requestSlots asks a server for the slot's owner and the other servers. If the server answers with an
// error, for example because the user must not run CLUSTER SLOTS, it is assumed to be the owner. If
// it is not, its next reply names the owner.
func (c *Client) requestSlots(ctx context.Context, addr string) (owner string, known []string, err error) {
	conn, err := c.open(ctx, addr)
	if err != nil {
		return "", nil, err
	}
	defer conn.close()
	reply, err := conn.Do(ctx, "CLUSTER", "SLOTS")
	if _, answered := errors.AsType[Error](err); answered {
		return addr, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	list, ok := reply.([]any)
	if !ok {
		return "", nil, protocolErrorf("CLUSTER SLOTS returned no list")
	}
	for _, entry := range list {
		part, _ := entry.([]any)
		if len(part) < 3 {
			return "", nil, protocolErrorf("CLUSTER SLOTS returned an entry of %d parts", len(part))
		}
		low, lok := part[0].(int64)
		high, hok := part[1].(int64)
		for i, node := range part[2:] {
			at, ok := nodeAddr(node, addr)
			if !ok || !lok || !hok {
				return "", nil, protocolErrorf("CLUSTER SLOTS returned an invalid entry")
			}
			if len(known) < 1000 && !slices.Contains(known, at) {
				known = append(known, at)
			}
			if i == 0 && low <= int64(c.slot) && int64(c.slot) <= high {
				owner = at
			}
		}
	}
	if owner == "" {
		return "", nil, Error("CLUSTERDOWN no server has the slot " + strconv.Itoa(c.slot))
	}
	return owner, known, nil
}

// nodeAddr returns the host and port of a server, from the point of view of the server that
// reported it.
func nodeAddr(node any, from string) (string, bool) {
	n, _ := node.([]any)
	if len(n) < 2 {
		return "", false
	}
	host, _ := n[0].(string)
	port, ok := n[1].(int64)
	if !ok || port < 0 || port > 65535 {
		return "", false
	}
	here := hostOf(from)
	if host == "" || host == "?" || loopback(host) && !loopback(here) && here != "localhost" {
		host = here
	}
	if port == 0 { // of a server with TLS only
		_, text, err := net.SplitHostPort(from)
		return net.JoinHostPort(host, text), err == nil
	}
	return net.JoinHostPort(host, strconv.FormatInt(port, 10)), true
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// changeOwner makes another server the owner, and requests the addresses of the other servers from it.
func (c *Client) changeOwner(ctx context.Context, addr string) {
	_, known, err := c.requestSlots(ctx, addr)
	if err != nil {
		known = nil
	}
	c.setOwner(addr, known)
}

// setOwner stores the owner of the slot and closes connections to other servers.
func (c *Client) setOwner(owner string, known []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = owner
	if len(known) > 0 {
		c.known = known
	}
	c.keepOnly(owner)
}

// forgetOwner forgets the owner of the slot, if the owner was this server.
func (c *Client) forgetOwner(addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == addr {
		c.owner, c.lost = "", addr
	}
}

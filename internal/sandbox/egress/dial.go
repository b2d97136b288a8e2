package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// lookup queries /etc/hosts, then the system's name servers. A trailing dot prevents the use of
// search domains, but with a trailing dot Go's resolver finds nothing in /etc/hosts.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addrs, err := lookupHostsFile(ctx, host); err == nil {
		return addrs, nil
	}
	servers := net.Resolver{PreferGo: true}
	return servers.LookupNetIP(ctx, "ip", host+".")
}

// dialError reports why an allowed target could not be reached.
type dialError struct {
	refusal *Refusal // every address was refused
	lookup  bool     // true if the name has no address
	err     error
}

func (e *dialError) Error() string { return e.err.Error() }

func (e *dialError) Unwrap() error { return e.err }

// timeout reports whether the connection timed out.
func (e *dialError) timeout() bool {
	var t net.Error
	return errors.Is(e.err, context.DeadlineExceeded) || errors.As(e.err, &t) && t.Timeout()
}

// dial connects to an admitted target, until the client disconnects. The parameter forward is true
// if plain HTTP requests follow; an HTTP upstream accepts these unchanged.
func (c *client) dial(t target, forward bool) (*bufferedConn, *dialError) {
	var e *bufferedConn
	var addrs []netip.Addr
	kind, port := c.upstream()
	if kind == upstreamNone {
		var dialErr *dialError
		if addrs, dialErr = c.resolve(t); dialErr != nil { // this may wait for approval
			return nil, dialErr
		}
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.p.o.Limits.ConnectTime)
	defer cancel()
	if kind == upstreamNone {
		conn, err := c.p.race(ctx, addrs, t.port)
		if err != nil {
			return nil, &dialError{err: err}
		}
		e = newBufferedConn(conn)
	} else {
		var err error
		if e, err = c.p.dialUpstream(ctx, kind, port, t, forward); err != nil {
			return nil, &dialError{err: fmt.Errorf("your proxy on 127.0.0.1:%d: %w", port, err)}
		}
	}
	c.s.noteReached(t.host.String())
	e.stop = context.AfterFunc(c.ctx, func() { e.Conn.Close() })
	return e, nil
}

// maxAddresses is the maximum number of addresses tried per name.
const maxAddresses = 16

// resolve returns the allowed addresses of a target.
func (c *client) resolve(t target) ([]netip.Addr, *dialError) {
	all, err := c.addresses(t.host)
	if err != nil {
		return nil, &dialError{lookup: true, err: err}
	}
	out, private, first := c.filterAddresses(t, all)
	if len(out) == 0 && private.IsValid() {
		ok, why := c.ask(t, private.String())
		if ok {
			return []netip.Addr{private}, nil
		}
		first.Reason += ", and " + why
	}
	switch {
	case len(out) > 0:
		return out, nil
	case first != nil:
		return nil, &dialError{refusal: c.refuse(*first), err: errors.New(first.Reason)}
	}
	return nil, &dialError{lookup: true, err: fmt.Errorf("%s has no address", t.host)}
}

// filterAddresses returns the allowed addresses of a target, the private address that the user may
// allow (if any), and the refusal to report if no address is allowed. The choice does not depend on
// the order in which a name server returns the addresses.
func (c *client) filterAddresses(t target, all []netip.Addr) (out []netip.Addr, private netip.Addr, first *Refusal) {
	for _, a := range all[:min(len(all), maxAddresses)] {
		f := c.p.rules.checkAddress(t.host, t.port, a)
		switch {
		case f == nil:
			out = append(out, a)
		case f.asks && (!private.IsValid() || a.Less(private)):
			first, private = f, a
		case first == nil:
			first = f
		}
	}
	return out, private, first
}

func (c *client) addresses(h Host) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.p.o.Limits.ConnectTime)
	defer cancel()
	switch {
	case h.IsAddr():
		return []netip.Addr{h.Addr}, nil
	case isLocal(h.Name):
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	list, err := c.p.o.Resolve(ctx, h.Name)
	for i := range list {
		list[i] = list[i].Unmap()
	}
	return list, err
}

// attemptDelay is how long to wait for one address before trying the next in parallel.
const attemptDelay = 250 * time.Millisecond

// race connects to the first address that answers.
func (p *Proxy) race(ctx context.Context, addrs []netip.Addr, port int) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	var errs []error
	running, next := 0, 0
	try := func() {
		address := net.JoinHostPort(addrs[next].String(), strconv.Itoa(port))
		running, next = running+1, next+1
		go func() {
			conn, err := p.o.Dial(ctx, "tcp", address)
			results <- result{conn, err}
		}()
	}
	try()
	timer := time.NewTicker(attemptDelay)
	defer timer.Stop()
	for running > 0 {
		select {
		case <-timer.C:
			if next < len(addrs) {
				try()
			}
		case r := <-results:
			running--
			if r.err == nil {
				cancel()
				for range running {
					if late := <-results; late.err == nil {
						late.conn.Close()
					}
				}
				return r.conn, nil
			}
			errs = append(errs, r.err)
			if next < len(addrs) && ctx.Err() == nil {
				try()
			}
		}
	}
	return nil, errors.Join(errs...)
}

// isRefused reports whether the connection failed because no program listens at the address.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

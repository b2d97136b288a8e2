package redis

import (
	"context"
	"sync"
	"time"
)

// maxMessage is the maximum size of a message in memory, in bytes.
const maxMessage = 1 << 20

// Subscriber receives messages published on channels, over a separate connection. After a lost
// connection, [Subscriber.Next] opens a new one. Messages in between are lost. It is safe for
// concurrent use, except that only one goroutine at a time may call Next.
type Subscriber struct {
	client *Client
	life   context.Context // ends with Close
	end    context.CancelFunc

	mu       sync.Mutex
	conn     *Conn // nil if there is none
	channels map[string]bool
}

// Subscriber returns a subscriber without channels. The caller closes it.
func (c *Client) Subscriber() *Subscriber {
	s := &Subscriber{client: c, channels: map[string]bool{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Subscribe adds a channel. If the server cannot be reached now, the channel is subscribed on the
// next connection.
func (s *Subscriber) Subscribe(channel string) { s.change("SUBSCRIBE", channel, true) }

// Unsubscribe removes a channel.
func (s *Subscriber) Unsubscribe(channel string) { s.change("UNSUBSCRIBE", channel, false) }

func (s *Subscriber) change(command, channel string, add bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if add {
		s.channels[channel] = true
	} else {
		delete(s.channels, channel)
	}
	if s.conn == nil {
		return
	}
	if err := s.conn.send(Command{command, channel}); err != nil {
		s.conn.close() // the reader notices
	}
}

// send sends a command whose reply another goroutine reads.
func (c *Conn) send(command Command) error {
	at := time.Time{}
	if c.timeout > 0 {
		at = time.Now().Add(c.timeout)
	}
	if err := c.net.SetWriteDeadline(at); err != nil {
		return err
	}
	if err := command.write(c.w); err != nil {
		return err
	}
	return c.w.Flush()
}

// Next waits for an event of a channel: a message or the start of the subscription. After an error
// it may be called again, after a short delay. After [ErrClosed] it returns no more events.
func (s *Subscriber) Next() (channel string, err error) {
	for {
		conn, err := s.connection()
		if err != nil {
			return "", s.closedOr(err)
		}
		reply, err := readReply(conn.r, maxMessage)
		if err != nil {
			s.mu.Lock()
			s.conn = nil
			s.mu.Unlock()
			conn.close()
			return "", s.closedOr(err)
		}
		if e, ok := reply.(Error); ok {
			return "", e
		}
		push, _ := reply.([]any)
		if len(push) != 3 {
			continue
		}
		if kind := push[0]; kind == "message" || kind == "subscribe" {
			channel, _ = push[1].(string)
			return channel, nil
		}
	}
}

func (s *Subscriber) closedOr(err error) error {
	if s.life.Err() != nil {
		return ErrClosed
	}
	return err
}

// connection returns the connection, and opens it if necessary.
func (s *Subscriber) connection() (*Conn, error) {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	c := s.client
	addr := c.opt.Addr
	if c.Clustered() {
		var err error
		if addr, err = c.findOwner(s.life); err != nil {
			return nil, err
		}
	}
	conn, err := c.openChecked(s.life, addr)
	if err != nil {
		c.forgetOwner(addr)
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	subscribe := Command{"SUBSCRIBE"}
	for channel := range s.channels {
		subscribe = append(subscribe, channel)
	}
	if len(subscribe) > 1 {
		err = conn.send(subscribe)
	}
	if err == nil {
		err = conn.net.SetReadDeadline(time.Time{})
	}
	if err == nil && s.life.Err() != nil {
		err = ErrClosed
	}
	if err != nil {
		conn.close()
		return nil, err
	}
	s.conn = conn
	return conn, nil
}

// Close closes the connection.
func (s *Subscriber) Close() {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.close()
	}
}

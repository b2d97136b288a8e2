package process

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// serviceManager is the service manager that started the daemon, if any. It is notified when the
// daemon is ready. After that, it is notified regularly that the daemon is still running.
type serviceManager struct {
	log  *slog.Logger
	stop chan struct{}
	wg   sync.WaitGroup
	once sync.Once
}

func newManager(log *slog.Logger) *serviceManager {
	m := &serviceManager{log: log, stop: make(chan struct{})}
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("cannot use the systemd watchdog", "error", err)
	}
	if every > 0 {
		m.wg.Go(func() { m.ping(every / 2) })
	}
	return m
}

func (m *serviceManager) ping(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
			m.notify(daemon.SdNotifyWatchdog)
		}
	}
}

func (m *serviceManager) ready()    { m.notify(daemon.SdNotifyReady) }
func (m *serviceManager) stopping() { m.notify(daemon.SdNotifyStopping) }

// reloading notifies systemd of a reload. The notification contains the time since boot, which
// systemd requires.
func (m *serviceManager) reloading() {
	m.notify(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, monotonic().Microseconds()))
}

func (m *serviceManager) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		m.log.Warn("cannot notify systemd", "error", err)
	}
}

// close stops the watchdog notifications.
func (m *serviceManager) close() {
	m.once.Do(func() { close(m.stop) })
	m.wg.Wait()
}

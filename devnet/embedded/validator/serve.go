package validator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/metrics"
	gethprom "github.com/ethereum/go-ethereum/metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serveMetrics opens the Prometheus endpoints of both clients.
func serveMetrics(ctx context.Context, listen Listen) error {
	geth := http.NewServeMux()
	geth.Handle("/debug/metrics/prometheus", gethprom.Handler(metrics.DefaultRegistry))
	if err := serve(ctx, "geth metrics", listen.GethMetrics, geth); err != nil {
		return err
	}
	comet := http.NewServeMux()
	comet.Handle("/metrics", promhttp.Handler())
	return serve(ctx, "cometbft metrics", listen.CometMetrics, comet)
}

// serve answers HTTP on addr until ctx ends.
func serve(ctx context.Context, what, addr string, h http.Handler) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(ln) }() // ends with Close
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	return nil
}

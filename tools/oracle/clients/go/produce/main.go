// Really produces with three Go clients: PROFILE and SERVERS as arguments, records on stdin, a line each of topic,
// key and value (hex, or "-" for null). At a line "flush" all that was told is sent, and "done" comes back.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"log"
	"os"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

type record struct {
	topic      string
	key, value []byte
}

// send returns once all records are acknowledged.
type send func(records []record) error

var saramaPartitioners = map[string]sarama.PartitionerConstructor{
	"sarama":                sarama.NewConfig().Producer.Partitioner,
	"sarama-reference":      sarama.NewReferenceHashPartitioner,
	"sarama-crc32":          sarama.NewCustomHashPartitioner(func() hash.Hash32 { return crc32.NewIEEE() }),
	"sarama-consistent-crc": sarama.NewConsistentCRCHashPartitioner,
	"sarama-murmur2":        sarama.NewMurmur2Partitioner,
}

var kafkaGoBalancers = map[string]kafka.Balancer{
	"kafka-go-round-robin":        nil, // its default
	"kafka-go-hash":               &kafka.Hash{},
	"kafka-go-reference":          &kafka.ReferenceHash{},
	"kafka-go-crc32":              kafka.CRC32Balancer{},
	"kafka-go-crc32-consistent":   kafka.CRC32Balancer{Consistent: true},
	"kafka-go-murmur2":            kafka.Murmur2Balancer{},
	"kafka-go-murmur2-consistent": kafka.Murmur2Balancer{Consistent: true},
}

func main() {
	send := client(os.Args[1], strings.Split(os.Args[2], ","))
	var records []record
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "flush" {
			check(send(records))
			records = nil
			fmt.Println("done")
			continue
		}
		words := strings.Fields(lines.Text())
		records = append(records, record{words[0], decoded(words[1]), decoded(words[2])})
	}
	check(lines.Err())
}

func client(profile string, servers []string) send {
	if partitioner, ours := saramaPartitioners[profile]; ours {
		return saramaClient(servers, partitioner)
	}
	if balancer, ours := kafkaGoBalancers[profile]; ours {
		return kafkaGoClient(servers, balancer)
	}
	if profile != "franz-go" {
		log.Fatalf("no client %s", profile)
	}
	return franzClient(servers)
}

func saramaClient(servers []string, partitioner sarama.PartitionerConstructor) send {
	config := sarama.NewConfig()
	config.Producer.Partitioner = partitioner
	config.Producer.Return.Successes = true
	producer, err := sarama.NewSyncProducer(servers, config)
	check(err)
	return func(records []record) error {
		messages := make([]*sarama.ProducerMessage, len(records))
		for i, each := range records {
			messages[i] = &sarama.ProducerMessage{Topic: each.topic}
			// A null key is no encoder at all: one of nil bytes is an empty key.
			if each.key != nil {
				messages[i].Key = sarama.ByteEncoder(each.key)
			}
			if each.value != nil {
				messages[i].Value = sarama.ByteEncoder(each.value)
			}
		}
		return producer.SendMessages(messages)
	}
}

func kafkaGoClient(servers []string, balancer kafka.Balancer) send {
	writer := &kafka.Writer{
		Addr:         kafka.TCP(servers...),
		Balancer:     balancer,
		BatchTimeout: 5 * time.Millisecond,
		RequiredAcks: kafka.RequireAll,
	}
	return func(records []record) error {
		messages := make([]kafka.Message, len(records))
		for i, each := range records {
			messages[i] = kafka.Message{Topic: each.topic, Key: each.key, Value: each.value}
		}
		return writer.WriteMessages(context.Background(), messages...)
	}
}

func franzClient(servers []string) send {
	client, err := kgo.NewClient(kgo.SeedBrokers(servers...))
	check(err)
	return func(records []record) error {
		sent := make([]*kgo.Record, len(records))
		for i, each := range records {
			sent[i] = &kgo.Record{Topic: each.topic, Key: each.key, Value: each.value}
		}
		return client.ProduceSync(context.Background(), sent...).FirstErr()
	}
}

func decoded(text string) []byte {
	if text == "-" {
		return nil
	}
	bytes, err := hex.DecodeString(text)
	check(err)
	return bytes
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

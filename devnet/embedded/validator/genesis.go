package validator

import (
	"fmt"
	"maps"
	"math/big"

	cmttypes "github.com/cometbft/cometbft/types"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
)

const (
	// gasLimit of every block: a thousand register operations and more.
	gasLimit = 30_000_000
	// maxBlockBytes bounds a CometBFT block. A full EVM block of the cheapest
	// calldata is 3 MB, twice that as hex.
	maxBlockBytes = 16 << 20
	// Power is the voting power of each validator.
	Power = 10
)

// evmGenesis has every fork up to Osaka active from the start, the system
// contracts that these forks call into, and the money.
func evmGenesis(cfg Config) *core.Genesis {
	zero := func() *uint64 { return new(uint64) }
	chain := &params.ChainConfig{
		ChainID:                 new(big.Int).SetUint64(cfg.ChainID),
		HomesteadBlock:          new(big.Int),
		EIP150Block:             new(big.Int),
		EIP155Block:             new(big.Int),
		EIP158Block:             new(big.Int),
		ByzantiumBlock:          new(big.Int),
		ConstantinopleBlock:     new(big.Int),
		PetersburgBlock:         new(big.Int),
		IstanbulBlock:           new(big.Int),
		MuirGlacierBlock:        new(big.Int),
		BerlinBlock:             new(big.Int),
		LondonBlock:             new(big.Int),
		ArrowGlacierBlock:       new(big.Int),
		GrayGlacierBlock:        new(big.Int),
		MergeNetsplitBlock:      new(big.Int),
		ShanghaiTime:            zero(),
		CancunTime:              zero(),
		PragueTime:              zero(),
		OsakaTime:               zero(),
		TerminalTotalDifficulty: new(big.Int),
		BlobScheduleConfig: &params.BlobScheduleConfig{
			Cancun: params.DefaultCancunBlobConfig,
			Prague: params.DefaultPragueBlobConfig,
		},
	}
	// A fortune each, and room for 2^55 of them in 256 bits.
	fortune := new(big.Int).Lsh(big.NewInt(1), 200)
	alloc := types.GenesisAlloc{}
	maps.Copy(alloc, core.SystemContractAllocs())
	for _, a := range cfg.Alloc {
		alloc[common.HexToAddress(a)] = types.Account{Balance: fortune}
	}
	alloc[crypto.PubkeyToAddress(FaucetKey().PublicKey)] = types.Account{Balance: fortune}
	return &core.Genesis{
		Config:     chain,
		Timestamp:  uint64(cfg.GenesisTime.Unix()),
		GasLimit:   gasLimit,
		BaseFee:    big.NewInt(params.InitialBaseFee),
		Difficulty: new(big.Int),
		ExtraData:  []byte("jepgo"),
		Alloc:      alloc,
	}
}

// cometGenesis names the validators. The application hash is not in it: the
// application answers InitChain with the EVM genesis hash.
func cometGenesis(cfg Config) (*cmttypes.GenesisDoc, error) {
	consensus := cmttypes.DefaultConsensusParams()
	consensus.Block.MaxBytes = maxBlockBytes
	doc := &cmttypes.GenesisDoc{
		ChainID:         fmt.Sprintf("jepgo-%d", cfg.ChainID),
		GenesisTime:     cfg.GenesisTime.UTC(),
		InitialHeight:   1,
		ConsensusParams: consensus,
	}
	for i, name := range cfg.Names {
		pub := validatorKey(cfg.Seed, i).PubKey()
		doc.Validators = append(doc.Validators, cmttypes.GenesisValidator{
			Address: pub.Address(), PubKey: pub, Power: Power, Name: name,
		})
	}
	if err := doc.ValidateAndComplete(); err != nil {
		return nil, fmt.Errorf("cometbft genesis: %w", err)
	}
	return doc, nil
}

pragma solidity 0.8.30;

/// Registers by key, as the register workload uses them. Zero is what a key
/// holds that was never written. Reads are transactions, so that the chain
/// orders them; peek is the local read.
contract Register {
    mapping(uint256 => uint256) private values;

    event Read(uint256 indexed key, uint256 value);
    event Wrote(uint256 indexed key, uint256 value);

    function write(uint256 key, uint256 value) external {
        values[key] = value;
        emit Wrote(key, value);
    }

    /// Reverts, and so has no effect, unless the key holds the expected value.
    function cas(uint256 key, uint256 expected, uint256 value) external {
        require(values[key] == expected, "value differs");
        values[key] = value;
        emit Wrote(key, value);
    }

    function read(uint256 key) external {
        emit Read(key, values[key]);
    }

    /// The number and the parent's hash say which block answered.
    function peek(uint256 key) external view returns (uint256 value, uint256 number, bytes32 parent) {
        return (values[key], block.number, blockhash(block.number - 1));
    }
}

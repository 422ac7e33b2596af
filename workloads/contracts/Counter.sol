pragma solidity 0.8.30;

/// The one counter of the counter workload.
contract Counter {
    uint256 private total;

    event Added(uint256 amount);

    function inc(uint256 amount) external {
        total += amount;
        emit Added(amount);
    }

    /// The number and the parent's hash say which block answered.
    function count() external view returns (uint256 value, uint256 number, bytes32 parent) {
        return (total, block.number, blockhash(block.number - 1));
    }
}
